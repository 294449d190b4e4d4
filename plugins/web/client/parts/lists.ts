import { insertText } from '@forum/client';

const QUOTE = /^(?: {0,3}>)+ ?/;
/** Indent, bullet or number with its full stop or bracket, the space after it, and a task's box. */
const ITEM = /^([ \t]*)(?:([-*+])|(\d{1,9})([.)]))([ \t]+)(\[[ xX]\][ \t]+)?/;
/** The fence of a code block and the text after it, also on the first line of a list item. */
const FENCE = /^(?:[ \t>]|[-*+] |\d{1,9}[.)] )*(`{3,}|~{3,})(.*)$/gm;
/** A thematic break, which starts like a list item. */
const RULE = /^ {0,3}([-*])(?:[ \t]*\1){2,}[ \t]*$/;

interface Line {
  /** The quotation markers of the line. */
  readonly quote: string;
  readonly indent: string;
  /** The marker of the list's next item, without indent; empty if the line is not an item. */
  readonly next: string;
  readonly number: number | undefined;
  /** Everything before the line's text: quotation markers and the item's marker. */
  readonly mark: string;
}

function read(text: string): Line {
  const [quote = ''] = QUOTE.exec(text) ?? [];
  const [item = '', indent = '', sign, number, end = '', space = '', box] = ITEM.exec(text.slice(quote.length)) ?? [];
  const next = item === '' ? '' : `${sign ?? `${Number(number) + 1}${end}`}${space}${box ? '[ ] ' : ''}`;
  return { quote, indent, next, number: number === undefined ? undefined : Number(number), mark: quote + item };
}

/**
 * Whether the text ends inside a fenced code block. A block is closed by at least as many of the same characters as
 * opened it.
 */
export function endsInCode(text: string): boolean {
  let open = '';
  for (const [, fence = '', rest = ''] of text.matchAll(FENCE)) {
    if (open === '' && !(fence.startsWith('`') && rest.includes('`'))) open = fence;
    else if (open !== '' && fence.startsWith(open) && rest.trim() === '') open = '';
  }
  return open !== '';
}

/**
 * Enter inside a list or a quotation starts the next item with the text after the caret. On an empty item it ends the
 * list, or the inner one of two. Returns false for an ordinary line.
 */
export function continueList(area: HTMLTextAreaElement): boolean {
  const { value, selectionStart: from, selectionEnd: to } = area;
  const start = from === 0 ? 0 : value.lastIndexOf('\n', from - 1) + 1;
  const line = read(value.slice(start, from));
  const [rest = '', ...below] = value.slice(to).split('\n');
  const whole = (value.slice(start, from) + rest).slice(line.quote.length);
  if (line.mark === '' || RULE.test(whole) || endsInCode(value.slice(0, start))) return false;
  const above = value.slice(0, Math.max(start - 1, 0)).split('\n');
  if (from === to && from - start === line.mark.length && rest.trim() === '') {
    leave(area, line, { start, end: to + rest.length, above, below: below[0] ?? '' });
  } else {
    const begin = `\n${line.quote}${line.indent}${line.next}`;
    const moved = rest.trimStart();
    const later = renumbered(line, below);
    insertText(
      area,
      [begin + moved, ...later].join('\n'),
      from,
      to + [rest, ...below.slice(0, later.length)].join('\n').length,
    );
    area.setSelectionRange(from + begin.length, from + begin.length);
  }
  return true;
}

/** The numbered items that follow, each incremented by one; empty if they do not continue the numbering of `line`. */
function renumbered({ quote, indent, number }: Line, below: readonly string[]): readonly string[] {
  if (number === undefined) return [];
  const changed: string[] = [];
  let [expected, last] = [number + 1, 0];
  for (const text of below) {
    if (text.trim() === '') break;
    const line = read(text);
    const counts = line.quote === quote && line.indent === indent && line.number === expected;
    const digits = String(expected).length;
    changed.push(counts ? `${quote}${indent}${++expected}${text.slice(quote.length + indent.length + digits)}` : text);
    if (counts) last = changed.length;
  }
  return changed.slice(0, last);
}

interface Around {
  readonly start: number;
  readonly end: number;
  readonly above: readonly string[];
  readonly below: string;
}

/**
 * Ends the list: the next text belongs to the outer list, or is a paragraph. A paragraph needs an empty line before it,
 * or it would still belong to the last item.
 */
function leave(area: HTMLTextAreaElement, line: Line, { start, end, above, below }: Around): void {
  const outer = line.next === '' ? undefined : itemAround(line, above);
  const quote = line.next === '' ? line.quote.replace(/>[^>]*$/, '') : line.quote;
  const empty = (text: string): boolean => text.replace(QUOTE, '').trim() === '';
  const before = outer || empty(above.at(-1) ?? '') ? '' : `${quote.trimEnd()}\n`;
  const after = outer || empty(below) ? '' : `\n${quote.trimEnd()}`;
  const mark = before + quote + (outer ? outer.indent + outer.next : '');
  insertText(area, mark + after, start, end);
  area.setSelectionRange(start + mark.length, start + mark.length);
}

function itemAround({ quote, indent }: Line, above: readonly string[]): Line | undefined {
  for (const text of above.toReversed()) {
    const line = read(text);
    if (line.quote !== quote || (line.next === '' && /^\S/.test(text.slice(quote.length)))) return undefined;
    if (line.next !== '' && line.indent.length < indent.length) return line;
  }
  return undefined;
}
