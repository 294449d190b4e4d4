import { defineFilter, defineToken } from 'parley-forum';

/** Turns members' Markdown into the only HTML of theirs that pages show. The one place where HTML is sanitised. */
export interface Markdown {
  /**
   * Sanitised HTML, at most `LARGEST_HTML` bytes; bounded in time. 400 naming `content` otherwise. Not for every
   * reader: store it with the source.
   */
  render(source: string): Promise<string>;
  /** Plain text of a source, at most `length` characters, for excerpts and descriptions. */
  excerpt(source: string, length: number): string;
  /** How HTML that was stored under older rules is judged by those of today. */
  readonly permitted: {
    /**
     * Names the rules, of which the site's address is a part: HTML that was judged under them need not be judged again.
     */
    readonly rule: string;
    /** The same HTML, with each picture that may not be shown any more replaced by its description. */
    pictures(html: string): string;
  };
}
/** Bytes of UTF-8 that the HTML of one text may have. */
export const LARGEST_HTML = 256 * 1024;
export const Markdown = defineToken<Markdown>('Markdown');

/**
 * Rendered HTML on its way to the sanitiser: a listener may add to it, and what is not on the allow-list is still
 * removed.
 */
export const markdownHtml = defineFilter<string, { readonly source: string }>('markdown.html');
