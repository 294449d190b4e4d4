import { InvalidInput } from 'parley-forum';
import { MAX_HTML_BYTES } from 'parley-forum/plugins/markdown';
import type { UrlRules } from './url-rules.ts';
import { createParser } from './parser.ts';
import { SPOILER_MARK } from './syntax/spoilers.ts';
import { createSanitiser } from './sanitise.ts';
import { RenderThread, type TimeBudget } from './render-thread.ts';

/**
 * Maximum characters of a text without tables that is rendered on the main thread (a few milliseconds at worst); longer
 * ones go to a worker.
 */
const INLINE_LENGTH = 2_048;

/** The limits of one kind of text. Each kind has its own worker thread, so that none waits for another. */
interface RenderProfile {
  /** Bytes of UTF-8. */
  readonly maxBytes: number;
  /** Milliseconds of processor time for all steps of one text. 64 KiB of ordinary text take about 20. */
  readonly timeLimit: number;
  /** Whether small texts are rendered on the main thread. */
  readonly inline: boolean;
  /** Appended to the message for texts that are too large. */
  readonly hint?: string;
}
const PROFILES = {
  post: { maxBytes: 64 * 1024, timeLimit: 2_000, inline: true },
  preview: { maxBytes: 64 * 1024, timeLimit: 2_000, inline: true },
  guest: { maxBytes: 8 * 1024, timeLimit: 200, inline: false, hint: ' for guests; log in to preview more' },
} as const satisfies Readonly<Record<string, RenderProfile>>;
/** A code fence. Only worker threads load the grammars of programming languages. */
const CODE = /`{3}|~{3}/;
export type RenderProfileName = keyof typeof PROFILES;

/** Characters with a meaning in Markdown. */
const MARK = /[\\`*_~[\]<>&|@:]/g;

/**
 * The part of a source that an excerpt needs: twice the length leaves room for markup and URLs, and the rest of a long
 * text is never parsed. Parsing a text of almost nothing but markup takes quadratic time, so it gets no extra room.
 */
function beginningOf(source: string, length: number): string {
  const part = source.slice(0, Math.min(INLINE_LENGTH, 2 * length + 500));
  const marks = part.match(MARK)?.length ?? 0;
  return marks * 10 > part.length ? part.slice(0, length) : part;
}

/** Possible spoilers in a text that cannot be parsed. */
const HIDDEN = /\|\|[^]*?\|\||^ {0,3}:{3,}[ \t]*spoiler[^]*/gm;

/** Throws 400 if the HTML has more than `maxBytes` bytes. */
function limitHtml(html: string, maxBytes: number): string {
  if (Buffer.byteLength(html) <= maxBytes) return html;
  const message = `renders to more than ${MAX_HTML_BYTES / 1024} KiB of HTML; shorten it, or split it into several posts: tables, links, pictures, headings and lists of single words take up the most space`;
  throw new InvalidInput([{ field: 'content', message }]);
}

/** Renders with one set of rules; replaced as a whole when they change. */
export class Renderer {
  readonly #parser: ReturnType<typeof createParser>;
  readonly #sanitise: (html: string) => string;
  readonly #threads: Readonly<Record<RenderProfileName, RenderThread>>;
  readonly #decorate: (html: string, source: string) => Promise<string>;

  /** `decorate` runs the filter that other plugins listen to. */
  constructor(rules: UrlRules, decorate: (html: string, source: string) => Promise<string>) {
    this.#parser = createParser(rules);
    this.#sanitise = createSanitiser(rules);
    this.#threads = { post: new RenderThread(rules), preview: new RenderThread(rules), guest: new RenderThread(rules) };
    this.#decorate = decorate;
  }

  async render(source: string, profile: RenderProfileName = 'post'): Promise<string> {
    const { maxBytes, timeLimit, hint = '' }: RenderProfile = PROFILES[profile];
    if (Buffer.byteLength(source) > maxBytes)
      throw new InvalidInput([{ field: 'content', message: `must be at most ${maxBytes / 1024} KiB${hint}` }]);
    if (!CODE.test(source)) return this.#render(source, profile, 'parse', { left: timeLimit });
    const half = timeLimit / 2;
    try {
      return await this.#render(source, profile, 'parse with colours', { left: half });
    } catch (error) {
      // If highlighting takes too long, or its HTML is too large, it is left out instead of refusing the text.
      if (!(error instanceof InvalidInput)) throw error;
      return this.#render(source, profile, 'parse', { left: half });
    }
  }

  async #render(
    source: string,
    profile: RenderProfileName,
    step: 'parse' | 'parse with colours',
    budget: TimeBudget,
  ): Promise<string> {
    const { inline }: RenderProfile = PROFILES[profile];
    const thread = this.#threads[profile];
    // A few characters can make a table of thousands of cells.
    const small = step === 'parse' && inline && source.length <= INLINE_LENGTH && !source.includes('|');
    const parsed = small ? this.#parseHere(source) : await thread.run({ step, text: source }, budget);
    // The sanitiser shortens some characters, but never by half of the page, so larger HTML is refused without spending
    // time on it.
    limitHtml(parsed, 2 * MAX_HTML_BYTES);
    const html = await this.#decorate(parsed, source);
    return limitHtml(
      inline && html.length <= 4 * INLINE_LENGTH
        ? this.#sanitise(html)
        : await thread.run({ step: 'sanitise', text: html }, budget),
      MAX_HTML_BYTES,
    );
  }

  excerpt(source: string, length: number): string {
    const part = beginningOf(source, length);
    // If the end of a spoiler was cut off, its beginning would be revealed.
    const closed = part.length < source.length && part.includes('|') ? part + SPOILER_MARK : part;
    const text = this.#plainText(closed)
      .replace(closed === part ? '' : /\|+$/, '')
      .replace(/\s+/g, ' ')
      .trim();
    if (text.length <= length) return text;
    const cut = text.slice(0, Math.max(0, length - 1));
    const space = cut.lastIndexOf(' ');
    return `${(space > length / 2 ? cut.slice(0, space) : cut.toWellFormed().replace(/\uFFFD$/, '')).trimEnd()}…`;
  }

  /** Throws 400 if the output grows out of proportion, as a worker does. */
  #parseHere(source: string): string {
    try {
      return this.#parser.parse(source);
    } catch (error) {
      throw error instanceof RangeError ? new InvalidInput([{ field: 'content', message: error.message }]) : error;
    }
  }

  /**
   * For a text that cannot be parsed, because it is older than the limits or was cut within a table, returns the source
   * without possible spoilers.
   */
  #plainText(source: string): string {
    try {
      return this.#parser.plainText(source);
    } catch {
      return source.replace(HIDDEN, '…');
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#threads).map((thread) => thread.close()));
  }
}
