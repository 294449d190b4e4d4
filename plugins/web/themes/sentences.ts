import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { usableTexts } from './themes.ts';

interface Pattern {
  readonly sentence: RegExp;
  readonly names: readonly string[];
  readonly text: string;
}
/** Keyed by the English sentence. */
type Translations = ReadonlyMap<string, string>;
interface Catalogue {
  readonly exact: Translations;
  /**
   * Each plugin's translations of its own sentences, since other plugins may translate the same sentence differently.
   */
  readonly ofPlugins: ReadonlyMap<string, Translations>;
  readonly patterns: readonly Pattern[];
}

/** Characters. No translation has longer sentences, and matching them would be slow. */
const MAX_LENGTH = 500;
const PLACEHOLDER = /\{([a-z]+)\}/g;

/** `failures`: error messages. `declared`: texts that plugins declare in code about themselves and their settings. */
export type SentenceKind = 'failures' | 'declared';

export interface SentenceFolders {
  /** By plugin id. */
  readonly plugins: ReadonlyMap<string, string>;
  /** The folders of the theme's chain, the theme itself last: its translations override the others. */
  readonly themes: readonly string[];
  /** Called with the error of each file whose translations cannot be used. */
  readonly unusable?: (error: unknown) => void;
}

/**
 * Translates English sentences in code, which programs and pages get alike. Translations are in
 * `locales/failures/de.json` or `locales/declared/de.json`, keyed by the sentence: `"must have at most {limit} tags":
 * "darf höchstens {limit} Tags haben"`; a placeholder matches any text.
 */
export class Sentences {
  readonly #kind: SentenceKind;
  readonly #folders: SentenceFolders;
  readonly #catalogues = new Map<string, Catalogue>();

  constructor(kind: SentenceKind, folders: SentenceFolders) {
    this.#kind = kind;
    this.#folders = folders;
  }

  /** Returns the sentence unchanged if there is no translation. The translations of `plugin` take precedence. */
  say(language: string, sentence: string, plugin = ''): string {
    if (language === 'en' || sentence.length > MAX_LENGTH) return sentence;
    const { exact, ofPlugins, patterns } = this.#catalogue(language);
    const found = ofPlugins.get(plugin)?.get(sentence) ?? exact.get(sentence);
    if (found !== undefined) return found;
    for (const { sentence: pattern, names, text } of patterns) {
      const match = pattern.exec(sentence);
      if (match) return text.replace(PLACEHOLDER, (_, name: string) => match[names.indexOf(name) + 1] ?? '');
    }
    return sentence;
  }

  #catalogue(language: string): Catalogue {
    let catalogue = this.#catalogues.get(language);
    if (!catalogue) this.#catalogues.set(language, (catalogue = this.#read(language)));
    return catalogue;
  }

  #read(language: string): Catalogue {
    const { plugins, themes } = this.#folders;
    const textsIn = (folder: string): Translations => {
      const file = join(folder, 'locales', this.#kind, `${language}.json`);
      const texts = existsSync(file) ? Object.entries(usableTexts(file, this.#folders.unusable)) : [];
      // Sentences have no plural forms.
      return new Map(
        texts.flatMap(([sentence, text]) => (typeof text === 'string' ? [[sentence, text] as const] : [])),
      );
    };
    const ofThemes: Translations = new Map(themes.flatMap((folder) => [...textsIn(folder)]));
    const ofPlugins = new Map(
      [...plugins].map(([id, folder]) => [
        id,
        new Map([...textsIn(folder)].map(([sentence, text]) => [sentence, ofThemes.get(sentence) ?? text])),
      ]),
    );
    const exact = new Map([...[...ofPlugins.values()].flatMap((texts) => [...texts]), ...ofThemes]);
    return {
      exact,
      ofPlugins,
      // If several patterns match, the one with the most literal text wins.
      patterns: [...exact]
        .filter(([sentence]) => sentence.includes('{'))
        .sort(([one], [other]) => wordsOf(other).length - wordsOf(one).length)
        .map(([sentence, text]) => patternOf(sentence, text)),
    };
  }
}

const wordsOf = (sentence: string): string => sentence.replace(PLACEHOLDER, '');

const patternOf = (sentence: string, text: string): Pattern => ({
  sentence: new RegExp(
    `^${sentence
      .split(PLACEHOLDER)
      .map((part, at) => (at % 2 === 0 ? RegExp.escape(part) : '(.+?)'))
      .join('')}$`,
    's',
  ),
  names: [...sentence.matchAll(PLACEHOLDER)].map(([, name]) => name!),
  text,
});
