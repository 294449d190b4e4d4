import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ConfigurationError, didYouMean } from 'parley-forum';
import { filesBelow, type PluginStyle } from '../assets/assets.ts';
import { shortPath, type Theme } from './themes.ts';

const COMMENT = /\/\*[^]*?\*\//g;
/** A relative URL of a file in a style sheet: not of another site, a data URL or a fragment of the page. */
const FILE = /url\(\s*(["']?)(?![a-z][a-z0-9+.-]*:|\/|#)([^"')?#\s]+)[^"')]*\1\s*\)/gi;

/** A use of a custom property without a fallback, which therefore has to be set. */
const USE = /var\(\s*(--[\w-]+)\s*\)/g;
const SET = /(--[\w-]+)\s*:/g;

/** What nests in a style sheet, and what may contain the same characters: comments, quoted texts, escapes. */
const NESTING = /\/\*[^]*?(?:\*\/|$)|"(?:[^"\\\n]|\\[^])*"?|'(?:[^'\\\n]|\\[^])*'?|\\[^]|[{}()[\]]/g;
const CLOSING: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };
const isWhole = (quoted: string): boolean => quoted.length > 1 && quoted.endsWith(quoted[0]!);

/** Where and why the rules of a style sheet do not end with it: joined with others, they would change those. */
function unclosedIn(text: string): { readonly index: number; readonly why: string } | undefined {
  const open: { readonly index: number; readonly sign: string }[] = [];
  for (const { 0: part, index } of text.matchAll(NESTING)) {
    if (part in CLOSING) open.push({ index, sign: part });
    else if (part.startsWith('/*')) {
      if (part.length < 4 || !part.endsWith('*/')) return { index, why: 'this comment does not end' };
    } else if (part.startsWith('"') || part.startsWith("'")) {
      if (!isWhole(part)) return { index, why: 'this text does not end on its line' };
    } else if (!part.startsWith('\\') && CLOSING[open.pop()?.sign ?? ''] !== part)
      return { index, why: `this "${part}" closes nothing` };
  }
  const last = open.at(-1);
  return last && { index: last.index, why: `this "${last.sign}" is not closed` };
}

/** Throws `ConfigurationError` if a plugin's style sheet would change those of others, with which it is served. */
export function checkStyle({ file, text }: PluginStyle): void {
  const { index, why } = unclosedIn(text) ?? {};
  if (why === undefined) return;
  throw new ConfigurationError(`${shortPath(file)}:${text.slice(0, index).split('\n').length}: ${why}`);
}

/** Places in a theme's style sheets where something is not closed. */
export const unclosedRules = (theme: Theme): readonly string[] =>
  sheetsOf(theme).flatMap(({ text, at }) => {
    const { index, why } = unclosedIn(text) ?? {};
    return index === undefined ? [] : [`${at(index)}: ${why}`];
  });

/** A style sheet of a theme, with comments blanked out so that offsets match the file. */
interface Sheet {
  readonly text: string;
  /** File and line of an offset. */
  at(offset: number): string;
}
function sheetsOf(theme: Theme): readonly Sheet[] {
  return (theme.styles ?? []).flatMap((style) => {
    const file = join(theme.folder, 'assets', style);
    if (!existsSync(file)) return [];
    const text = readFileSync(file, 'utf8').replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));
    const at = (offset: number): string =>
      `themes/${theme.id}/assets/${style}:${text.slice(0, offset).split('\n').length}`;
    return [{ text, at }];
  });
}

/**
 * Places in a theme's style sheets that refer to files that are missing or of a type that is not served. All style
 * sheets are served as one, in `assets/css`.
 */
export function unservedFiles(theme: Theme): readonly string[] {
  const assets = join(theme.folder, 'assets');
  const served = new Set(filesBelow(assets).map(({ path }) => path));
  return sheetsOf(theme).flatMap(({ text, at }) =>
    [...text.matchAll(FILE)].flatMap(({ index, 2: name = '' }) => {
      const path = posix.join('css', name);
      if (served.has(path)) return [];
      const why = existsSync(join(assets, path))
        ? 'is of a type that is not served; fonts are .woff2, pictures .svg, .png, .jpg, .webp, .avif, .gif or .ico'
        : `does not exist; URLs in style sheets are relative to assets/css`;
      return `${at(index)}: refers to "${name}", which ${why}`;
    }),
  );
}

/**
 * Places in a theme's style sheets that use a custom property that is never set. `others`: the texts of the tokens and
 * of all other style sheets; properties that appear in them are set there or by a script.
 */
export function unsetProperties(theme: Theme, others: readonly string[]): readonly string[] {
  const sheets = sheetsOf(theme);
  const known = new Set([
    ...others.flatMap((text) => text.match(/--[\w-]+/g) ?? []),
    ...sheets.flatMap(({ text }) => [...text.matchAll(SET)].map(([, name = '']) => name)),
  ]);
  return sheets.flatMap(({ text, at }) =>
    [...text.matchAll(USE)]
      .filter(([, name = '']) => !known.has(name))
      .map(
        ({ index, 1: name = '' }) =>
          `${at(index)}: uses ${name}, which is not set anywhere; ${didYouMean(name, [...known], 'set it, or give it a fallback')}`,
      ),
  );
}
