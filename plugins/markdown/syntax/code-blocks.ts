import type MarkdownIt from 'markdown-it';
import { languageName } from './languages.ts';

/** Code of a language as HTML in which its words have classes; `undefined` for a language that it does not know. */
export type Highlight = (code: string, language: string) => string | undefined;

/** Blocks of code under the name of their language. */
export function codeBlocks(markdown: InstanceType<typeof MarkdownIt>, highlight: Highlight | undefined): void {
  const { escapeHtml } = markdown.utils;
  const block = (content: string, info: string): string => {
    const language = /^[a-z0-9+#-]{1,30}/.exec(info.trim().toLowerCase())?.[0];
    const [name, caption] =
      language === undefined
        ? ['', '']
        : [` class="language-${language}"`, `<figcaption>${escapeHtml(languageName(language))}</figcaption>`];
    const shown = (language !== undefined && highlight?.(content, language)) || escapeHtml(content);
    // Focusable, so that wide code can be scrolled by keyboard. The empty element becomes a button for those with script.
    return `<figure class="code" dir="ltr">${caption}<x-copy></x-copy><pre dir="ltr" tabindex="0"><code${name}>${shown}</code></pre></figure>\n`;
  };
  markdown.renderer.rules['fence'] = (tokens, index) => block(tokens[index]!.content, tokens[index]!.info);
  markdown.renderer.rules['code_block'] = (tokens, index) => block(tokens[index]!.content, '');
}
