import { createRequire } from 'node:module';
import { grammarsOf } from './languages.ts';

/** The token kinds with a style of their own; all others are shown as plain text. */
const KINDS: Readonly<Record<string, string>> = {
  comment: 'comment',
  quote: 'comment',
  keyword: 'keyword',
  'selector-tag': 'keyword',
  'template-tag': 'keyword',
  operator: 'keyword',
  string: 'string',
  regexp: 'string',
  char: 'string',
  link: 'string',
  code: 'string',
  symbol: 'string',
  number: 'number',
  literal: 'number',
  bullet: 'number',
  title: 'name',
  name: 'name',
  section: 'name',
  'selector-id': 'name',
  'selector-class': 'name',
  type: 'type',
  built_in: 'type',
  class: 'type',
  meta: 'type',
  attr: 'attribute',
  attribute: 'attribute',
  property: 'attribute',
  variable: 'attribute',
  'template-variable': 'attribute',
  addition: 'addition',
  deletion: 'deletion',
};
const SPAN = /<span class="([\w-]+)[^"]*">|<\/span>/g;

/** Declared here, because highlight.js's own types would add browser types globally. */
interface HighlightJs {
  configure(options: { readonly classPrefix: string }): void;
  getLanguage(name: string): unknown;
  registerLanguage(name: string, grammar: unknown): void;
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string };
}
// Synchronous, because the parser is: grammars are needed in the middle of a text.
const require = createRequire(import.meta.url);
const highlightJs = require('highlight.js/lib/core') as HighlightJs;
highlightJs.configure({ classPrefix: '' });

/**
 * Highlights code as HTML with classes; `undefined` for an unknown language. Grammars are loaded on first use. For
 * worker threads only: hostile code can make a grammar run for an unbounded time.
 */
export function highlight(code: string, language: string): string | undefined {
  const grammars = grammarsOf(language);
  const [grammar] = grammars;
  if (grammar === undefined) return undefined;
  for (const needed of grammars)
    if (!highlightJs.getLanguage(needed))
      highlightJs.registerLanguage(needed, require(`highlight.js/lib/languages/${needed}`));
  return withClasses(highlightJs.highlight(code, { language: grammar, ignoreIllegals: true }).value);
}

/** Maps highlight.js's classes to ours and drops the elements of kinds without a style. */
function withClasses(html: string): string {
  const open: string[] = [];
  return html.replace(SPAN, (_span, scope: string | undefined) => {
    if (scope === undefined) return open.pop() ?? '';
    const kind = KINDS[scope];
    open.push(kind === undefined ? '' : '</span>');
    return kind === undefined ? '' : `<span class="code-${kind}">`;
  });
}
