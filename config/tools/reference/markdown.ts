/** Where the generated documents lie, from the root. Nothing else lies there. */
export const REFERENCE = 'docs/reference';

/** Text as code in a table cell. */
export const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``;

export const codes = (all: readonly string[]): string => all.map(code).join(', ');

/** A table in Markdown; line breaks and bars in cells do not end them. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  if (rows.length === 0) return 'None.';
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
