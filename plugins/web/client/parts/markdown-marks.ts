import { insertText } from '@forum/client';

export type Mark = 'bold' | 'italic' | 'heading' | 'quote' | 'code' | 'list' | 'ordered' | 'tasks' | 'link';

const AROUND: Readonly<Partial<Record<Mark, string>>> = { bold: '**', italic: '_', code: '`' };
/** The prefix of a line, by the line's index, and how to recognise it. */
interface LineMark {
  readonly there: RegExp;
  put(at: number): string;
}
const BEFORE: Readonly<Partial<Record<Mark, LineMark>>> = {
  heading: { there: /^## /, put: () => '## ' },
  quote: { there: /^> /, put: () => '> ' },
  list: { there: /^[-*+] (?!\[[ xX]\] )/, put: () => '- ' },
  ordered: { there: /^\d+[.)] /, put: (at) => `${at + 1}. ` },
  tasks: { there: /^[-*+] \[[ xX]\] /, put: () => '- [ ] ' },
};

/** Adds Markdown around or before the selection, or removes it if it is already there. */
export function apply(area: HTMLTextAreaElement, mark: Mark): void {
  const { selectionStart: start, selectionEnd: end, value } = area;
  const selected = value.slice(start, end);
  const before = BEFORE[mark];
  if (before) return lines(area, before);
  if (mark === 'link') {
    insertText(area, `[${selected}](https://)`, start, end);
    return area.setSelectionRange(start + selected.length + 3, start + selected.length + 11);
  }
  const around = mark === 'code' && selected.includes('\n') ? '\n```\n' : (AROUND[mark] ?? '');
  const size = around.length;
  if (value.slice(start - size, start) === around && value.slice(end, end + size) === around) {
    insertText(area, selected, start - size, end + size);
    return area.setSelectionRange(start - size, end - size);
  }
  insertText(area, around + selected + around, start, end);
  area.setSelectionRange(start + size, end + size);
}

interface Rows {
  readonly start: number;
  readonly end: number;
  readonly rows: readonly string[];
}

/** The whole lines of the selection. */
function selectedRows({ value, selectionStart, selectionEnd }: HTMLTextAreaElement): Rows {
  const start = value.lastIndexOf('\n', selectionStart - 1) + 1;
  const next = value.indexOf('\n', selectionEnd);
  const end = next < 0 ? value.length : next;
  return { start, end, rows: value.slice(start, end).split('\n') };
}

const ITEM = /^( *)(?:[-*+]|\d{1,9}[.)]) +/;
const depthOf = (row: string): number => row.search(/[^ ]|$/);

/** Moves the selected lines into the list item above them, or one level out. The selection stays. */
export function indent(area: HTMLTextAreaElement, inwards: boolean): void {
  const { selectionStart, selectionEnd } = area;
  const { start, end, rows } = selectedRows(area);
  const above = area.value.slice(0, Math.max(start - 1, 0)).split('\n');
  const depth = depthOf(rows[0]!);
  const outer = above.findLast((row) => ITEM.test(row) && depthOf(row) < depth);
  const [item = '', itsIndent = ''] = ITEM.exec(above.at(-1) ?? '') ?? [];
  // Beside a deeper item, into an equal one.
  const into = (itsIndent.length > depth ? itsIndent : item).length - depth;
  const out = outer === undefined ? 2 : depth - depthOf(outer);
  const moved = rows.map((row) =>
    inwards ? ' '.repeat(into > 0 ? into : 2) + row : row.slice(row.startsWith('\t') ? 1 : Math.min(depthOf(row), out)),
  );
  if (moved.join() === rows.join()) return;
  const text = moved.join('\n');
  insertText(area, text, start, end);
  const change = (moved[0]?.length ?? 0) - (rows[0]?.length ?? 0);
  area.setSelectionRange(Math.max(start, selectionStart + change), selectionEnd + text.length - (end - start));
}

function lines(area: HTMLTextAreaElement, { there, put }: LineMark): void {
  const { start, end, rows } = selectedRows(area);
  const marked = rows.every((row) => there.test(row));
  const others = rows.map((row, at) => (marked ? row.replace(there, '') : put(at) + row));
  insertText(area, others.join('\n'), start, end);
}
