import { InvalidInput } from 'parley-forum';
import { LARGEST_HTML } from 'parley-forum/plugins/markdown';
import type { Rules } from './links.ts';
import { createParser } from './parser.ts';
import { createSanitiser } from './sanitise.ts';
import { Workshop } from './workshop.ts';

/**
 * Up to this many characters a text without tables is rendered on the spot (a few milliseconds at worst), beyond it in
 * a worker.
 */
const SMALL = 2_048;

/** Where texts are rendered. Each has a worker thread of its own, so that none waits for another. */
interface Lane {
  /** Bytes of UTF-8. */
  readonly largest: number;
  /**
   * Milliseconds for all steps of one text, from when the worker takes it up. 64 KiB of ordinary text take about 20.
   */
  readonly time: number;
  /** Whether small texts are rendered on the spot. */
  readonly spot: boolean;
  /** What is added for texts that are too large. */
  readonly hint?: string;
}
const LANES = {
  post: { largest: 64 * 1024, time: 2_000, spot: true },
  preview: { largest: 64 * 1024, time: 2_000, spot: true },
  guest: { largest: 8 * 1024, time: 200, spot: false, hint: ' for guests; log in to preview more' },
} as const satisfies Readonly<Record<string, Lane>>;
export type LaneName = keyof typeof LANES;

/** 400 for HTML of more bytes than it may have. */
function bounded(html: string, largest: number): string {
  if (Buffer.byteLength(html) <= largest) return html;
  const message = `makes a page of more than ${LARGEST_HTML / 1024} KiB; shorten it, or split it into several posts: tables, links and pictures, headings and lists of one word take most`;
  throw new InvalidInput([{ field: 'content', message }]);
}

/** Renderer for one set of rules; replaced as a whole when they change. */
export class Renderer {
  readonly #parser: ReturnType<typeof createParser>;
  readonly #clean: (html: string) => string;
  readonly #workshops: Readonly<Record<LaneName, Workshop>>;
  readonly #decorate: (html: string, source: string) => Promise<string>;

  /** `decorate` is the filter that other plugins listen to. */
  constructor(rules: Rules, decorate: (html: string, source: string) => Promise<string>) {
    this.#parser = createParser(rules);
    this.#clean = createSanitiser(rules);
    this.#workshops = { post: new Workshop(rules), preview: new Workshop(rules), guest: new Workshop(rules) };
    this.#decorate = decorate;
  }

  async render(source: string, lane: LaneName = 'post'): Promise<string> {
    const { largest, time, spot, hint = '' }: Lane = LANES[lane];
    if (Buffer.byteLength(source) > largest)
      throw new InvalidInput([{ field: 'content', message: `must be at most ${largest / 1024} KiB${hint}` }]);
    const workshop = this.#workshops[lane];
    const left = { left: time };
    // A few characters can make a table of thousands of cells.
    const small = spot && source.length <= SMALL && !source.includes('|');
    const parsed = small ? this.#parseHere(source) : await workshop.run({ step: 'parse', text: source }, left);
    // The sanitiser writes some characters shorter, but never by half a page: what is too large before it is not worth
    // its time.
    bounded(parsed, 2 * LARGEST_HTML);
    const html = await this.#decorate(parsed, source);
    return bounded(
      spot && html.length <= 4 * SMALL ? this.#clean(html) : await workshop.run({ step: 'clean', text: html }, left),
      LARGEST_HTML,
    );
  }

  excerpt(source: string, length: number): string {
    // Twice the length leaves room for marks and addresses; the rest of a long text is never looked at.
    const text = this.#words(source.slice(0, Math.min(SMALL, 2 * length + 500)))
      .replace(/\s+/g, ' ')
      .trim();
    if (text.length <= length) return text;
    const cut = text.slice(0, Math.max(0, length - 1));
    const space = cut.lastIndexOf(' ');
    return `${(space > length / 2 ? cut.slice(0, space) : cut.toWellFormed().replace(/\uFFFD$/, '')).trimEnd()}…`;
  }

  /** As a worker answers it, 400 for a text that grows out of proportion. */
  #parseHere(source: string): string {
    try {
      return this.#parser.parse(source);
    } catch (error) {
      throw error instanceof RangeError ? new InvalidInput([{ field: 'content', message: error.message }]) : error;
    }
  }

  /**
   * A text that could not be rendered, because it is from before the bounds or was cut amid a table, gives its source.
   */
  #words(source: string): string {
    try {
      return this.#parser.words(source);
    } catch {
      return source;
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#workshops).map((workshop) => workshop.close()));
  }
}
