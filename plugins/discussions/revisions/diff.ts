import { diffArrays, diffWordsWithSpace } from 'diff';

/** A stretch of a line. */
interface DiffSegment {
  readonly text: string;
  readonly changed: boolean;
}
/**
 * A line that stayed, a number of lines that stayed and are left out, or a line before and after: without one of them
 * it was added or taken away.
 */
export type DiffRow = Readonly<
  { same: string } | { gap: number } | { before?: readonly DiffSegment[]; after?: readonly DiffSegment[] }
>;

/** Lines around a change that are shown though they stayed. */
const CONTEXT = 2;
/** Lines and words that may differ before the search for what stayed is given up: its time grows with their square. */
const [MAX_LINE_EDITS, MAX_WORD_EDITS] = [100, 40];
/** Characters in which words are compared; what is beyond them is shown as whole lines. */
const MAX_COMPARED_CHARACTERS = 5_000;
/** Rows of one change that are shown. */
const MAX_ROWS = 400;

const wholeLine = (text: string): readonly DiffSegment[] => [{ text, changed: true }];

/** How many characters may still be looked into. */
interface Budget {
  left: number;
}

/** What two versions of a line share, and what not. */
function diffLine(before: string, after: string, budget: Budget): DiffRow {
  const needed = before.length + after.length;
  if (needed > budget.left) return { before: wholeLine(before), after: wholeLine(after) };
  budget.left -= needed;
  const words = diffWordsWithSpace(before, after, { maxEditLength: MAX_WORD_EDITS });
  // Nothing shared but spaces: two lines that have nothing to do with each other.
  if (!words?.some(({ added, removed, value }) => !added && !removed && value.trim() !== ''))
    return { before: wholeLine(before), after: wholeLine(after) };
  return {
    before: words.filter(({ added }) => !added).map(({ value, removed }) => ({ text: value, changed: removed })),
    after: words.filter(({ removed }) => !removed).map(({ value, added }) => ({ text: value, changed: added })),
  };
}

/** Lines that were replaced, side by side; those that are left over stand alone. */
function replaced(before: readonly string[], after: readonly string[], budget: Budget): readonly DiffRow[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, at): DiffRow => {
    const [old, fresh] = [before[at], after[at]];
    if (old !== undefined && fresh !== undefined) return diffLine(old, fresh, budget);
    return old === undefined ? { after: wholeLine(fresh ?? '') } : { before: wholeLine(old) };
  });
}

/** Lines that stayed, of which those far from any change are left out. */
function unchanged(lines: readonly string[], first: boolean, last: boolean): readonly DiffRow[] {
  const [head, tail] = [first ? 0 : CONTEXT, last ? 0 : CONTEXT];
  const show = (shown: readonly string[]): readonly DiffRow[] => shown.map((same) => ({ same }));
  const gap = lines.length - head - tail;
  if (gap <= 1) return show(lines);
  return [...show(lines.slice(0, head)), { gap }, ...show(lines.slice(lines.length - tail))];
}

/**
 * How a text became another: by lines, and within lines by words. Bounded in time and length; `cut` says that rows are
 * missing at the end.
 */
export function diffText(before: string, after: string): { readonly rows: readonly DiffRow[]; readonly cut: boolean } {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const all = [
    { value: old, removed: true, added: false },
    { value: fresh, removed: false, added: true },
  ];
  const parts = diffArrays(old, fresh, { maxEditLength: MAX_LINE_EDITS }) ?? all;
  const rows: DiffRow[] = [];
  const budget: Budget = { left: MAX_COMPARED_CHARACTERS };
  for (let at = 0; at < parts.length && rows.length <= MAX_ROWS; at++) {
    const part = parts[at]!;
    const following = parts[at + 1];
    if (!part.added && !part.removed) rows.push(...unchanged(part.value, at === 0, following === undefined));
    else if (part.removed && following?.added) {
      rows.push(...replaced(part.value.slice(0, MAX_ROWS + 1), following.value.slice(0, MAX_ROWS + 1), budget));
      at++;
    } else rows.push(...(part.removed ? replaced(part.value, [], budget) : replaced([], part.value, budget)));
  }
  return { rows: rows.slice(0, MAX_ROWS), cut: rows.length > MAX_ROWS };
}
