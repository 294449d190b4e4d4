/** The folder of the generated documents, relative to the root. It contains nothing else. */
export const REFERENCE = 'docs/reference';

/** Formats text as code in a table cell. */
export const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``;

export const codes = (all: readonly string[]): string => all.map(code).join(', ');

/** Formats a Markdown table; line breaks and pipes in cells are escaped. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  if (rows.length === 0) return 'None.';
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
