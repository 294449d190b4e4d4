/** A Markdown image or link: its text and its target. */
const MARK = /!?\[(?:\\.|[^[\]\\])*\]\(([^()\s]+)\)/g;

interface Mark {
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
/** The images and links to these files, in the order of the text. */
export const marksIn = (text: string, paths: ReadonlySet<string>): readonly Mark[] =>
  [...text.matchAll(MARK)].flatMap(({ 0: mark, 1: path = '', index: start }) =>
    paths.has(path) ? [{ path, text: mark, start, end: start + mark.length }] : [],
  );

/** The forum's files in a text, except in quotations. */
export const filesIn = (text: string): readonly Mark[] => {
  const paths = [...text.matchAll(MARK)].map(({ 1: path = '' }) => path);
  const marks = marksIn(text, new Set(paths.filter((path) => path.startsWith('/uploads/'))));
  return marks.filter(({ start }) => text[text.lastIndexOf('\n', start) + 1] !== '>');
};

interface Swap {
  /** The file that it changes places with. */
  readonly other: string;
  readonly start: number;
  readonly end: number;
  /** Replaces the text from start to end. */
  readonly text: string;
  /** Its new position, counted from 1. */
  readonly at: number;
}
/** Moves a file one position earlier (-1) or later (1) among `paths`; undefined if it cannot move. */
export function swapIn(text: string, paths: ReadonlySet<string>, path: string, by: -1 | 1): Swap | undefined {
  const marks = marksIn(text, paths);
  const index = marks.findIndex((mark) => mark.path === path);
  const [own, other] = [marks[index], marks[index + by]];
  if (!own || !other) return undefined;
  const [first, second] = by < 0 ? [other, own] : [own, other];
  const between = text.slice(first.end, second.start);
  return {
    other: other.path,
    start: first.start,
    end: second.end,
    text: second.text + between + first.text,
    at: index + by + 1,
  };
}
