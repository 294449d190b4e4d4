// These two packages have no type declarations.
declare module 'markdown-it-container' {
  import type MarkdownIt from 'markdown-it';
  import type { RendererRule } from 'markdown-it';
  export default function container(
    markdown: InstanceType<typeof MarkdownIt>,
    name: string,
    options: { readonly render: RendererRule },
  ): void;
}
declare module 'markdown-it-footnote' {
  import type MarkdownIt from 'markdown-it';
  export default function footnote(markdown: InstanceType<typeof MarkdownIt>): void;
}
