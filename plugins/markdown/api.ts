import { defineFilter, defineToken } from 'parley-forum';

/** Turns members' Markdown into the only HTML of theirs that pages show. The one place where HTML is sanitised. */
export interface Markdown {
  /**
   * Sanitised HTML, at most `MAX_HTML_BYTES` bytes; bounded in time. 400 naming `content` otherwise. Not for every
   * reader: store it with the source.
   */
  render(source: string): Promise<string>;
  /** Plain text of a source, at most `length` characters, for excerpts and descriptions. */
  excerpt(source: string, length: number): string;
  /** Applies today's rules for images to HTML that was stored under older ones. */
  readonly permitted: {
    /**
     * Names the rules, of which the site's URL is a part: HTML that was checked under them need not be checked again.
     */
    readonly rule: string;
    /** The same HTML, with each image that may not be shown any more replaced by its description. */
    images(html: string): string;
  };
}
/** Bytes of UTF-8 that the HTML of one text may have. */
export const MAX_HTML_BYTES = 256 * 1024;
export const Markdown = defineToken<Markdown>('Markdown');

/**
 * Rendered HTML on its way to the sanitiser: a listener may add to it, and what is not on the allow-list is still
 * removed.
 */
export const markdownHtml = defineFilter<string, { readonly source: string }>('markdown.html');
