/** One figure beside its goal. */
export interface Result {
  readonly name: string;
  /** Undefined: not measured in this run, as the large data in a quick one. */
  readonly value: number | undefined;
  readonly unit: string;
  /** To the baseline measured in the same run. */
  readonly ratio: number | undefined;
  /** What `ratio`, or `value` where there is none, should be; undefined: it is only told. */
  readonly goal: number | undefined;
  /** True: the goal is an upper bound; false: a lower one. */
  readonly atMost: boolean;
}

const figure = (result: Result): number | undefined => result.ratio ?? result.value;

export function met(result: Result): boolean | undefined {
  const measured = figure(result);
  if (measured === undefined || result.goal === undefined) return undefined;
  return result.atMost ? measured <= result.goal : measured >= result.goal;
}

/** To three digits. */
export const rounded = (value: number | undefined): string =>
  value === undefined ? '–' : Number(value.toPrecision(3)).toLocaleString('en');

/** A table for people. */
export function table(results: readonly Result[]): string {
  const rows = results.map((result) => [
    result.name,
    `${rounded(result.value)} ${result.unit}`,
    rounded(result.ratio),
    result.goal === undefined ? '' : `${result.atMost ? '≤' : '≥'} ${result.goal}`,
    verdict(result),
  ]);
  return columns([['what', 'measured', 'ratio', 'goal', ''], ...rows]);
}

function verdict(result: Result): string {
  const good = met(result);
  if (good !== undefined) return good ? 'met' : 'MISSED';
  return figure(result) === undefined ? 'not measured' : '';
}

/** Rows of cells, each column as wide as its longest. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What `--json` prints. */
export interface Report {
  readonly database: string;
  readonly results: readonly (Omit<Result, 'value' | 'ratio' | 'goal'> & {
    readonly value: number | null;
    readonly ratio: number | null;
    readonly goal: number | null;
    readonly met: boolean | null;
  })[];
}

/** The same for programs. */
export const report = (database: string, results: readonly Result[]): Report => ({
  database,
  results: results.map((result) => ({
    ...result,
    value: result.value ?? null,
    ratio: result.ratio ?? null,
    goal: result.goal ?? null,
    met: met(result) ?? null,
  })),
});
