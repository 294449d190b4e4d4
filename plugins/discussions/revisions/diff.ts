import { diffArrays, diffWordsWithSpace } from 'diff';

/** A segment of a line. */
interface DiffSegment {
  readonly text: string;
  readonly changed: boolean;
}
/**
 * An unchanged line, a number of omitted unchanged lines, or a line before and after; without one of the two, it was
 * added or removed.
 */
export type DiffRow = Readonly<
  { same: string } | { gap: number } | { before?: readonly DiffSegment[]; after?: readonly DiffSegment[] }
>;

/** Number of unchanged lines shown around a change. */
const CONTEXT = 2;
/** Maximum numbers of differing lines and words before the comparison is abandoned: its time grows quadratically. */
const [MAX_LINE_EDITS, MAX_WORD_EDITS] = [100, 40];
/** Number of characters compared word by word; changes beyond that are shown as whole lines. */
const MAX_COMPARED_CHARACTERS = 5_000;
/** Maximum number of rows shown of one change. */
const MAX_ROWS = 400;

const wholeLine = (text: string): readonly DiffSegment[] => [{ text, changed: true }];

/** Number of characters that may still be compared word by word. */
interface Budget {
  left: number;
}

/** Compares two versions of a line word by word. */
function diffLine(before: string, after: string, budget: Budget): DiffRow {
  const needed = before.length + after.length;
  if (needed > budget.left) return { before: wholeLine(before), after: wholeLine(after) };
  budget.left -= needed;
  const words = diffWordsWithSpace(before, after, { maxEditLength: MAX_WORD_EDITS });
  // The lines share nothing but spaces, so they are unrelated.
  if (!words?.some(({ added, removed, value }) => !added && !removed && value.trim() !== ''))
    return { before: wholeLine(before), after: wholeLine(after) };
  return {
    before: words.filter(({ added }) => !added).map(({ value, removed }) => ({ text: value, changed: removed })),
    after: words.filter(({ removed }) => !removed).map(({ value, added }) => ({ text: value, changed: added })),
  };
}

/** Replaced lines side by side; the surplus lines of the longer side stand alone. */
function replaced(before: readonly string[], after: readonly string[], budget: Budget): readonly DiffRow[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, at): DiffRow => {
    const [old, fresh] = [before[at], after[at]];
    if (old !== undefined && fresh !== undefined) return diffLine(old, fresh, budget);
    return old === undefined ? { after: wholeLine(fresh ?? '') } : { before: wholeLine(old) };
  });
}

/** Unchanged lines, without those far from any change. */
function unchanged(lines: readonly string[], first: boolean, last: boolean): readonly DiffRow[] {
  const [head, tail] = [first ? 0 : CONTEXT, last ? 0 : CONTEXT];
  const show = (shown: readonly string[]): readonly DiffRow[] => shown.map((same) => ({ same }));
  const gap = lines.length - head - tail;
  if (gap <= 1) return show(lines);
  return [...show(lines.slice(0, head)), { gap }, ...show(lines.slice(lines.length - tail))];
}

/**
 * Compares two texts by lines, and within lines by words. Bounded in time and length; `cut` means that rows are missing
 * at the end.
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
