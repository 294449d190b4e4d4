import { escapeMarkdown } from '@forum/client';

// Loaded only when something is quoted. Everything of the page becomes text that is escaped, or the address of a link or
// a picture in which nothing can end it; so a post can have no other markup in its quotation than it has itself.

/** Elements deeper than this become plain text. */
const DEEPEST = 20;
/** The server shows `#` as the third level. */
const HEADINGS = ['h3', 'h4', 'h5', 'h6'];
/** What a selection inside one of them keeps: a part of a code block is still code, and a spoiler stays closed. */
const AROUND = 'pre, code, a, strong, em, s, blockquote, details';
const TABLE = 'table, thead, tbody, tr';
/** Parts of a text that its author did not write. */
const LEFT_OUT = new Set(['x-copy', 'figcaption', 'summary', 'input', 'button']);
/** Characters at the start of a line that Markdown would treat as markup. */
const BEGINNING = /^(?:([#+=-]|:(?=[:-]))|(\d+)([.)]))/;
/** What would become a mention that it is not on the page. */
const MENTION = /(?<![\p{L}\p{N}_/@.&-])@(?=\w)/gu;
/** Blocks that cannot follow the line that names the author without an empty line. */
const BLOCK = /^(?:[-#>|] ?|```|~~~|:::|\d+\. |\*\*\*$)/;
/** Addresses that need no brackets to be a link. */
const PLAIN_ADDRESS = /^https?:\/\/[\w./?=&#%+~:-]*[\w/]$/;

type Writer = (element: Element, depth: number) => string;

/** Markdown of the selected part of a text, without the lines of a quotation. */
export function markdownOf(range: Range, prose: Element): string {
  const root = document.createElement('div');
  let inside: Node = range.cloneContents();
  const { commonAncestorContainer: common } = range;
  const inCell = (common instanceof Element ? common : common.parentElement)?.closest('td, th') !== null;
  let around = common instanceof Element ? common : common.parentElement;
  for (; around && around !== prose; around = around.parentElement) {
    const belongs = around.matches(AROUND) || (around.matches(TABLE) && !inCell);
    // A part of one item is no list.
    if (!belongs && !(around === common && around.matches('ul, ol'))) continue;
    const kept = around.cloneNode(false) as Element;
    if (kept.localName === 'ol') kept.setAttribute('start', String(firstIn(around, range)));
    kept.append(inside);
    inside = kept;
  }
  root.append(inside);
  return blocksIn(root, 0);
}

/** The number of the item of an ordered list in which a selection begins. */
function firstIn(items: Element, range: Range): number {
  const at = [...items.children].findIndex((item) => item.contains(range.startContainer));
  return Number(items.getAttribute('start') ?? 1) + Math.max(at, 0);
}

/** A quotation of it, which names and links the post. */
export function quotation(markdown: string, author: string, path: string): string {
  const lines = markdown.split('\n').map((line) => `> ${line}`.trimEnd());
  return [`> [@${author}](${path}):`, ...(BLOCK.test(markdown) ? ['>'] : []), ...lines].join('\n');
}

/** The blocks among the children, and what is between them as paragraphs. */
function blocksIn(parent: Element, depth: number, gap = '\n\n'): string {
  const blocks: string[] = [];
  let run = '';
  const end = (): void => {
    blocks.push(paragraph(run));
    run = '';
  };
  for (const node of parent.childNodes) {
    const write = node instanceof Element && depth < DEEPEST ? blockWriter(node) : undefined;
    if (!write) run += inlineOf(node, depth);
    else {
      end();
      blocks.push(write(node as Element, depth + 1));
    }
  }
  end();
  return blocks.filter((block) => block !== '').join(gap);
}

function blockWriter(element: Element): Writer | undefined {
  if (element.matches('details.words')) return undefined;
  return HEADINGS.includes(element.localName) ? heading : BLOCKS[element.localName];
}

const BLOCKS: Readonly<Record<string, Writer>> = {
  p: (element, depth) => blocksIn(element, depth),
  div: (element, depth) => blocksIn(element, depth),
  figure: (element, depth) => blocksIn(element, depth),
  section: (element, depth) => blocksIn(element, depth),
  blockquote: (element, depth) =>
    blocksIn(element, depth)
      .split('\n')
      .map((line) => `> ${line}`.trimEnd())
      .join('\n'),
  pre: (element) => {
    const code = (element.textContent ?? '').replace(/\n$/, '');
    const language = /\blanguage-([a-z0-9+#-]+)/.exec(element.querySelector('code')?.className ?? '')?.[1] ?? '';
    const fence = '`'.repeat(Math.max(3, longestRun(code) + 1));
    return `${fence}${language}\n${code}\n${fence}`;
  },
  ul: (element, depth) => list(element, depth, (item) => `- ${boxOf(item)}`),
  ol: (element, depth) => {
    const first = Number(element.getAttribute('start') ?? 1);
    return list(element, depth, (item, at) => `${first + at}. ${boxOf(item)}`);
  },
  table: (element, depth) => table([...element.querySelectorAll('tr')], depth),
  hr: () => '***',
  details: (element, depth) => {
    const fence = ':'.repeat(3 + element.querySelectorAll('details').length);
    const title = spaced(element.querySelector('summary')?.textContent ?? '').trim();
    return `${fence}spoiler ${title}`.trimEnd() + `\n\n${blocksIn(element, depth)}\n\n${fence}`;
  },
};

function heading(element: Element, depth: number): string {
  const text = inlineIn(element, depth).replace(/\n/g, ' ').trim();
  // A sign at the end would be taken for the end of the heading.
  return text && `${'#'.repeat(HEADINGS.indexOf(element.localName) + 1)} ${text.replace(/(#+)$/, '\\$1')}`;
}

function list(element: Element, depth: number, mark: (item: Element, at: number) => string): string {
  return [...element.children]
    .map((item, at) => {
      const loose = item.querySelector(':scope > p') !== null;
      const sign = mark(item, at);
      const indent = ' '.repeat(sign.indexOf(' ') + 1);
      return sign + blocksIn(item, depth, loose ? '\n\n' : '\n').replace(/\n(?!\n)/g, `\n${indent}`);
    })
    .join('\n');
}

function boxOf(item: Element): string {
  const box = item.querySelector<HTMLInputElement>(':scope > label > input, :scope > p > label > input');
  if (!box) return '';
  return box.checked ? '[x] ' : '[ ] ';
}

function table([head, ...rows]: readonly Element[], depth: number): string {
  if (!head) return '';
  const line = (row: Element): string => {
    const cells = [...row.children].map((cell) => inlineIn(cell, depth).replace(/\s+/g, ' ').trim());
    return `| ${cells.join(' | ')} |`;
  };
  return [line(head), `|${' --- |'.repeat(head.children.length)}`, ...rows.map(line)].join('\n');
}

const inlineIn = (parent: Element, depth: number): string =>
  [...parent.childNodes].map((node) => inlineOf(node, depth + 1)).join('');

function inlineOf(node: Node, depth: number): string {
  if (!(node instanceof Element) || depth >= DEEPEST) return escaped(node.textContent);
  if (LEFT_OUT.has(node.localName)) return '';
  return (INLINE[node.localName] ?? inlineIn)(node, depth);
}

const marked =
  (mark: string): Writer =>
  (element, depth) => {
    const [, before = '', text = '', after = ''] = /^(\s*)([^]*?)(\s*)$/.exec(inlineIn(element, depth)) ?? [];
    return text === '' ? before : `${before}${mark}${text}${mark}${after}`;
  };

const INLINE: Readonly<Record<string, Writer>> = {
  strong: marked('**'),
  em: marked('*'),
  s: marked('~~'),
  details: marked('||'),
  br: () => '\n',
  code: (element) => {
    const code = spaced(element.textContent ?? '');
    const fence = '`'.repeat(longestRun(code) + 1);
    const space = /^`|`$|^ .*[^ ].* $/.test(code) ? ' ' : '';
    // In a table, a bar would end the cell.
    const shown = element.closest('td, th') ? code.replaceAll('|', '\\|') : code;
    return code === '' ? '' : `${fence}${space}${shown}${space}${fence}`;
  },
  img: (element) => {
    const alt = escaped(element.getAttribute('alt'));
    const source = element.getAttribute('src');
    return source === null ? alt : `![${alt}](${addressIn(source)})`;
  },
  sup: (element, depth) => (element.querySelector('a.footnote') ? '' : inlineIn(element, depth)),
  a: link,
};

function link(element: Element, depth: number): string {
  const address = element.getAttribute('href');
  if (element.matches('.footnote, .footnote-back')) return '';
  const label = inlineIn(element, depth);
  const name = element.textContent ?? '';
  if (element.matches('.mention') && /^@[\w.-]+$/.test(name)) return name;
  // The server makes links of pictures by itself.
  if (address === null || element.matches('.picture') || label.trim() === '') return label;
  return name === address && PLAIN_ADDRESS.test(address) ? address : `[${label}](${addressIn(address)})`;
}

/** An address between the brackets of a link: nothing in it ends them, or is read as something else. */
const addressIn = (address: string): string =>
  address
    .replace(/[()<>[\]\\`|]|&(?=#?\w+;)/g, '\\$&')
    .replace(/[\s"]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

function paragraph(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.replace(BEGINNING, (_all, sign = '', number = '', end = '') => `${number}\\${sign}${end}`))
    .join('\n');
}

const escaped = (text: string | null): string => escapeMarkdown(spaced(text ?? '')).replace(MENTION, '\\@');
const spaced = (text: string): string => text.replace(/[ \t\r\n\f]+/g, ' ');
const longestRun = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
