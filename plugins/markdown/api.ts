import { defineFilter, defineToken } from 'parley-forum';

/**
 * Renders members' Markdown to HTML. The only HTML from members that pages show, and the only place where HTML is
 * sanitised.
 */
export interface Markdown {
  /**
   * Renders to sanitised HTML of at most `MAX_HTML_BYTES` bytes, in bounded time. Throws 400 naming `content` if the
   * source exceeds a limit. Store the result with the source instead of rendering for each reader.
   */
  render(source: string): Promise<string>;
  /** Plain text of a source, at most `length` characters, for excerpts and descriptions. */
  excerpt(source: string, length: number): string;
  /** Applies the current rules for images to HTML that was stored under older ones. */
  readonly permitted: {
    /**
     * Identifies the rules, including the site's URL: HTML that was checked under the same rules need not be checked
     * again.
     */
    readonly rule: string;
    /** The same HTML, with each image that may no longer be shown replaced by its description. */
    images(html: string): string;
  };
}
/** The maximum size of one text's HTML, in bytes of UTF-8. */
export const MAX_HTML_BYTES = 256 * 1024;
export const Markdown = defineToken<Markdown>('Markdown');

/**
 * Filters rendered HTML before it is sanitised: listeners may add to it, and anything that is not on the allow-list is
 * still removed.
 */
export const markdownHtml = defineFilter<string, { readonly source: string }>('markdown.html');
