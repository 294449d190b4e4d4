import { defineFilter, defineToken } from '#core';

/** Turns members' Markdown into the only HTML of theirs that pages show. The one place where HTML is sanitised. */
export interface Markdown {
  /** Sanitised HTML; bounded in time. Not for every reader: store it with the source. */
  render(source: string): Promise<string>;
  /** Plain text of a source, at most `length` characters, for excerpts and descriptions. */
  excerpt(source: string, length: number): string;
}
export const Markdown = defineToken<Markdown>('Markdown');

/** Rendered HTML on its way to the sanitiser: a listener may add to it, and what is not on the allow-list is still removed. */
export const markdownHtml = defineFilter<string, { readonly source: string }>('markdown.html');
