import { InvalidInput } from '#core';
import type { Markdown } from '#plugins/markdown';
import type { Rules } from './links.ts';
import { createParser } from './parser.ts';
import { createSanitiser } from './sanitise.ts';
import { Workshop } from './workshop.ts';

/** Bytes of UTF-8; as large as a long article. */
export const LARGEST_SOURCE = 64 * 1024;
/** Up to this many characters a text is rendered on the spot (well under a millisecond), beyond it in the worker. */
const SMALL = 2_048;

/** Renderer for one set of rules; replaced as a whole when they change. */
export class Renderer implements Markdown {
  readonly #parser: ReturnType<typeof createParser>;
  readonly #clean: (html: string) => string;
  readonly #workshop: Workshop;
  readonly #decorate: (html: string, source: string) => Promise<string>;

  /** `decorate` is the filter that other plugins listen to. */
  constructor(rules: Rules, decorate: (html: string, source: string) => Promise<string>) {
    this.#parser = createParser(rules);
    this.#clean = createSanitiser(rules);
    this.#workshop = new Workshop(rules);
    this.#decorate = decorate;
  }

  async render(source: string): Promise<string> {
    if (Buffer.byteLength(source) > LARGEST_SOURCE) throw new InvalidInput([{ field: 'content', message: 'must be at most 64 KiB' }]);
    const parsed = source.length <= SMALL ? this.#parser.parse(source) : await this.#workshop.run({ step: 'parse', text: source });
    const html = await this.#decorate(parsed, source);
    return html.length <= 4 * SMALL ? this.#clean(html) : this.#workshop.run({ step: 'clean', text: html });
  }

  excerpt(source: string, length: number): string {
    // Twice the length leaves room for marks and addresses; the rest of a long text is never looked at.
    const text = this.#parser.words(source.slice(0, Math.min(SMALL, 2 * length + 500))).replace(/\s+/g, ' ').trim();
    if (text.length <= length) return text;
    const cut = text.slice(0, Math.max(0, length - 1));
    const space = cut.lastIndexOf(' ');
    return `${(space > length / 2 ? cut.slice(0, space) : cut.toWellFormed().replace(/\uFFFD$/, '')).trimEnd()}…`;
  }

  close(): Promise<void> {
    return this.#workshop.close();
  }
}
