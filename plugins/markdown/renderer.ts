import { InvalidInput } from 'parley-forum';
import { MAX_HTML_BYTES } from 'parley-forum/plugins/markdown';
import type { UrlRules } from './url-rules.ts';
import { createParser } from './parser.ts';
import { SPOILER_MARK } from './syntax/spoilers.ts';
import { createSanitiser } from './sanitise.ts';
import { RenderThread, type TimeBudget } from './render-thread.ts';

/**
 * Up to this many characters a text without tables is rendered on the spot (a few milliseconds at worst), beyond it in
 * a worker.
 */
const INLINE_LENGTH = 2_048;

/** Where texts are rendered. Each has a worker thread of its own, so that none waits for another. */
interface RenderProfile {
  /** Bytes of UTF-8. */
  readonly maxBytes: number;
  /**
   * Milliseconds of processor time for all steps of one text. 64 KiB of ordinary text take about 20.
   */
  readonly timeLimit: number;
  /** Whether small texts are rendered on the spot. */
  readonly inline: boolean;
  /** What is added for texts that are too large. */
  readonly hint?: string;
}
const PROFILES = {
  post: { maxBytes: 64 * 1024, timeLimit: 2_000, inline: true },
  preview: { maxBytes: 64 * 1024, timeLimit: 2_000, inline: true },
  guest: { maxBytes: 8 * 1024, timeLimit: 200, inline: false, hint: ' for guests; log in to preview more' },
} as const satisfies Readonly<Record<string, RenderProfile>>;
/** What code in a text begins with, of which only worker threads know the words. */
const CODE = /`{3}|~{3}/;
export type RenderProfileName = keyof typeof PROFILES;

/** What can stand for more than itself. */
const MARK = /[\\`*_~[\]<>&|@:]/g;

/**
 * As much of a source as an excerpt needs: twice the length leaves room for marks and addresses, and the rest of a long
 * text is never looked at. One that has hardly anything but marks takes time by their square, and gets no such room.
 */
function beginningOf(source: string, length: number): string {
  const part = source.slice(0, Math.min(INLINE_LENGTH, 2 * length + 500));
  const marks = part.match(MARK)?.length ?? 0;
  return marks * 10 > part.length ? part.slice(0, length) : part;
}

/** What may be a spoiler, in a text that cannot be parsed. */
const HIDDEN = /\|\|[^]*?\|\||^ {0,3}:{3,}[ \t]*spoiler[^]*/gm;

/** 400 for HTML of more bytes than it may have. */
function limitHtml(html: string, maxBytes: number): string {
  if (Buffer.byteLength(html) <= maxBytes) return html;
  const message = `makes a page of more than ${MAX_HTML_BYTES / 1024} KiB; shorten it, or split it into several posts: tables, links and pictures, headings and lists of one word take most`;
  throw new InvalidInput([{ field: 'content', message }]);
}

/** Renderer for one set of rules; replaced as a whole when they change. */
export class Renderer {
  readonly #parser: ReturnType<typeof createParser>;
  readonly #sanitise: (html: string) => string;
  readonly #threads: Readonly<Record<RenderProfileName, RenderThread>>;
  readonly #decorate: (html: string, source: string) => Promise<string>;

  /** `decorate` is the filter that other plugins listen to. */
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
      // Colours that take too long, or too much room, are left out; the text is not refused for them.
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
    // The sanitiser writes some characters shorter, but never by half a page: what is too large before it is not worth
    // its time.
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
    // Where the end of a spoiler was cut off, its beginning would be told.
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

  /** As in a worker, 400 for a text that grows out of proportion. */
  #parseHere(source: string): string {
    try {
      return this.#parser.parse(source);
    } catch (error) {
      throw error instanceof RangeError ? new InvalidInput([{ field: 'content', message: error.message }]) : error;
    }
  }

  /**
   * A text that could not be rendered, because it is from before the bounds or was cut amid a table, gives its source
   * but for what may be a spoiler.
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
