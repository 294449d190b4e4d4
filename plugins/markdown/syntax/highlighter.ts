import { createRequire } from 'node:module';
import { grammarsOf } from './languages.ts';

/** The kinds of words that have a look of their own; every other one is shown like text. */
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

/** Its own types bring those of browsers along, everywhere. */
interface HighlightJs {
  configure(options: { readonly classPrefix: string }): void;
  getLanguage(name: string): unknown;
  registerLanguage(name: string, grammar: unknown): void;
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string };
}
// Without waiting, because the parser does not: grammars come in the middle of a text.
const require = createRequire(import.meta.url);
const highlightJs = require('highlight.js/lib/core') as HighlightJs;
highlightJs.configure({ classPrefix: '' });

/**
 * Code as HTML in which words have classes, `undefined` for a language that is not known. Grammars are loaded when a
 * text first needs them. For worker threads: nothing bounds the time that a grammar takes for hostile code.
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

/** Its classes become ours; the elements of kinds without one are left out. */
function withClasses(html: string): string {
  const open: string[] = [];
  return html.replace(SPAN, (_span, scope: string | undefined) => {
    if (scope === undefined) return open.pop() ?? '';
    const kind = KINDS[scope];
    open.push(kind === undefined ? '' : '</span>');
    return kind === undefined ? '' : `<span class="code-${kind}">`;
  });
}
