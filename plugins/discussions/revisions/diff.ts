import { diffArrays, diffWordsWithSpace } from 'diff';

/** A stretch of a line. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}
/**
 * A line that stayed, a number of lines that stayed and are left out, or a line before and after: without one of them
 * it was added or taken away.
 */
export type Row = Readonly<
  { same: string } | { gap: number } | { before?: readonly Piece[]; after?: readonly Piece[] }
>;

/** Lines around a change that are shown though they stayed. */
const CONTEXT = 2;
/** Lines and words that may differ before the search for what stayed is given up: its time grows with their square. */
const [LINES, WORDS] = [100, 40];
/** Characters in which words are compared; what is beyond them is shown as whole lines. */
const COMPARED = 5_000;
/** Rows of one change that are shown. */
const MOST = 400;

const whole = (text: string): readonly Piece[] => [{ text, changed: true }];

/** How many characters may still be looked into. */
interface Room {
  left: number;
}

/** What two versions of a line share, and what not. */
function within(before: string, after: string, room: Room): Row {
  const needed = before.length + after.length;
  if (needed > room.left) return { before: whole(before), after: whole(after) };
  room.left -= needed;
  const words = diffWordsWithSpace(before, after, { maxEditLength: WORDS });
  // Nothing shared but spaces: two lines that have nothing to do with each other.
  if (!words?.some(({ added, removed, value }) => !added && !removed && value.trim() !== ''))
    return { before: whole(before), after: whole(after) };
  return {
    before: words.filter(({ added }) => !added).map(({ value, removed }) => ({ text: value, changed: removed })),
    after: words.filter(({ removed }) => !removed).map(({ value, added }) => ({ text: value, changed: added })),
  };
}

/** Lines that were replaced, side by side; those that are left over stand alone. */
function replaced(before: readonly string[], after: readonly string[], room: Room): readonly Row[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, at): Row => {
    const [old, fresh] = [before[at], after[at]];
    if (old !== undefined && fresh !== undefined) return within(old, fresh, room);
    return old === undefined ? { after: whole(fresh ?? '') } : { before: whole(old) };
  });
}

/** Lines that stayed, of which those far from any change are left out. */
function stayed(lines: readonly string[], first: boolean, last: boolean): readonly Row[] {
  const [head, tail] = [first ? 0 : CONTEXT, last ? 0 : CONTEXT];
  const show = (shown: readonly string[]): readonly Row[] => shown.map((same) => ({ same }));
  const gap = lines.length - head - tail;
  if (gap <= 1) return show(lines);
  return [...show(lines.slice(0, head)), { gap }, ...show(lines.slice(lines.length - tail))];
}

/**
 * How a text became another: by lines, and within lines by words. Bounded in time and length; `cut` says that rows are
 * missing at the end.
 */
export function differenceOf(before: string, after: string): { readonly rows: readonly Row[]; readonly cut: boolean } {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const all = [
    { value: old, removed: true, added: false },
    { value: fresh, removed: false, added: true },
  ];
  const parts = diffArrays(old, fresh, { maxEditLength: LINES }) ?? all;
  const rows: Row[] = [];
  const room: Room = { left: COMPARED };
  for (let at = 0; at < parts.length && rows.length <= MOST; at++) {
    const part = parts[at]!;
    const following = parts[at + 1];
    if (!part.added && !part.removed) rows.push(...stayed(part.value, at === 0, following === undefined));
    else if (part.removed && following?.added) {
      rows.push(...replaced(part.value.slice(0, MOST + 1), following.value.slice(0, MOST + 1), room));
      at++;
    } else rows.push(...(part.removed ? replaced(part.value, [], room) : replaced([], part.value, room)));
  }
  return { rows: rows.slice(0, MOST), cut: rows.length > MOST };
}
