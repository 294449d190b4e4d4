import type MarkdownIt from 'markdown-it';
import { languageName } from './languages.ts';

/** Highlights code as HTML with classes; `undefined` for an unknown language. */
export type Highlight = (code: string, language: string) => string | undefined;

/** Code blocks with the name of their language as caption. */
export function codeBlocks(markdown: InstanceType<typeof MarkdownIt>, highlight: Highlight | undefined): void {
  const { escapeHtml } = markdown.utils;
  const block = (content: string, info: string): string => {
    const language = /^[a-z0-9+#-]{1,30}/.exec(info.trim().toLowerCase())?.[0];
    const [name, caption] =
      language === undefined
        ? ['', '']
        : [` class="language-${language}"`, `<figcaption>${escapeHtml(languageName(language))}</figcaption>`];
    const shown = (language !== undefined && highlight?.(content, language)) || escapeHtml(content);
    // Focusable, so that wide code can be scrolled by keyboard. With scripts, the empty element becomes a button.
    return `<figure class="code" dir="ltr">${caption}<x-copy></x-copy><pre dir="ltr" tabindex="0"><code${name}>${shown}</code></pre></figure>\n`;
  };
  markdown.renderer.rules['fence'] = (tokens, index) => block(tokens[index]!.content, tokens[index]!.info);
  markdown.renderer.rules['code_block'] = (tokens, index) => block(tokens[index]!.content, '');
}
