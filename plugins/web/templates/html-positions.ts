import { Parser } from 'htmlparser2';

/** The position of a template expression in the HTML, which decides whether its output can be escaped. */
export interface HtmlPosition {
  readonly kind: 'text' | 'tag' | 'value' | 'unquoted' | 'raw' | 'comment';
  /** Name of the attribute, for `value` and `unquoted`. */
  readonly attribute: string;
  /** True when the attribute's value starts with the expression. */
  readonly first: boolean;
  /** Lower-case name of the element whose tag or raw text this is. */
  readonly element: string;
  /** For raw text: true inside a JSON data block. */
  readonly data: boolean;
}

type Expression = hbs.AST.MustacheStatement;
type Block = hbs.AST.BlockStatement;

const RAW = new Set(['script', 'style']);
const DATA = /^application\/(ld\+)?json$/;

/**
 * Stands for an expression: a private-use character, which is stripped from template text, after a letter so that a
 * name may start with it.
 */
const FIRST_MARK = 0xf0000;
const MARKS = /[\u{f0000}-\u{10ffff}]/gu;
const placeholder = (index: number): string => `x${String.fromCodePoint(FIRST_MARK + index)}`;

/** Closes whatever a template leaves open, so that the parser reports it. */
const END = `"'>`;
/** For positions that the parser does not report, such as attributes of an end tag. */
const ELSEWHERE: HtmlPosition = { kind: 'tag', attribute: '', first: false, element: '', data: false };

/**
 * The position of each expression of a template. The template is parsed as HTML with the first branch of every block,
 * and again for each `{{else}}`; content after a block is positioned as it is after the first branch.
 */
export function htmlPositions(program: hbs.AST.Program): ReadonlyMap<Expression, HtmlPosition> {
  const positions = new Map<Expression, HtmlPosition>();
  const seen = new Set<Block>();
  const readings: ReadonlySet<Block>[] = [new Set()];
  for (const inverted of readings) {
    const { html, expressions, blocks } = writeHtml(program, inverted);
    const found = readHtml(html);
    for (const [index, expression] of expressions.entries())
      if (!positions.has(expression)) positions.set(expression, found.get(index) ?? ELSEWHERE);
    for (const block of blocks) {
      if (seen.has(block)) continue;
      seen.add(block);
      readings.push(new Set([...inverted, block]));
    }
  }
  return positions;
}

interface WrittenHtml {
  readonly html: string;
  /** By the index of their placeholders. */
  readonly expressions: readonly Expression[];
  /** The blocks that have an `{{else}}`. */
  readonly blocks: readonly Block[];
}

/** The template's HTML with placeholders and one branch of each block: the `{{else}}` if it is in `inverted`. */
function writeHtml(template: hbs.AST.Program, inverted: ReadonlySet<Block>): WrittenHtml {
  const expressions: Expression[] = [];
  const blocks: Block[] = [];
  const write = (program: hbs.AST.Program | undefined): string => (program?.body ?? []).map(writeNode).join('');
  const writeNode = (node: hbs.AST.Statement): string => {
    switch (node.type) {
      case 'ContentStatement':
        return (node as hbs.AST.ContentStatement).value.replaceAll(MARKS, '');
      case 'MustacheStatement':
        return placeholder(expressions.push(node as Expression) - 1);
      case 'BlockStatement': {
        const block = node as Block;
        if (block.inverse) blocks.push(block);
        return write(inverted.has(block) ? block.inverse : block.program);
      }
      default:
        return '';
    }
  };
  return { html: write(template) + END, expressions, blocks };
}

/** The positions of placeholders, by their index. */
function readHtml(html: string): ReadonlyMap<number, HtmlPosition> {
  const found = new Map<number, HtmlPosition>();
  let tag = '';
  let raw: { readonly element: string; readonly data: boolean } | undefined;
  const locate = (text: string, kind: HtmlPosition['kind'], attribute = ''): void => {
    for (const { 0: mark, index } of text.matchAll(MARKS)) {
      // Only the placeholder's letter precedes the mark.
      const first = kind === 'value' && index === 1;
      const position = raw ? ({ kind: 'raw', ...raw } as const) : { kind, element: tag, data: false };
      found.set(mark.codePointAt(0)! - FIRST_MARK, { ...position, attribute, first });
    }
  };
  const parser = new Parser(
    {
      onopentagname(name) {
        tag = name;
        locate(name, 'tag');
      },
      onattribute(name, value, quote) {
        locate(name, 'tag');
        locate(value, quote ? 'value' : 'unquoted', name);
      },
      onopentag(name, attributes) {
        if (RAW.has(name)) raw = { element: name, data: DATA.test(attributes['type'] ?? '') };
      },
      onclosetag(name) {
        if (name === raw?.element) raw = undefined;
      },
      ontext: (text) => locate(text, 'text'),
      oncomment: (text) => locate(text, 'comment'),
    },
    { decodeEntities: false },
  );
  parser.end(html);
  return found;
}
