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

function lines(area: HTMLTextAreaElement, { there, put }: LineMark): void {
  const { value, selectionStart, selectionEnd } = area;
  const start = value.lastIndexOf('\n', selectionStart - 1) + 1;
  const next = value.indexOf('\n', selectionEnd);
  const end = next < 0 ? value.length : next;
  const rows = value.slice(start, end).split('\n');
  const marked = rows.every((row) => there.test(row));
  const others = rows.map((row, at) => (marked ? row.replace(there, '') : put(at) + row));
  insertText(area, others.join('\n'), start, end);
}
