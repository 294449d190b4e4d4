/** A picture or a link of Markdown: what it says, and where it leads. */
const MARK = /!?\[(?:\\.|[^[\]\\])*\]\(([^()\s]+)\)/g;

interface Mark {
  readonly path: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
/** Of these files, in the order of the text. */
export const marksIn = (text: string, paths: ReadonlySet<string>): readonly Mark[] =>
  [...text.matchAll(MARK)].flatMap(({ 0: mark, 1: path = '', index: start }) =>
    paths.has(path) ? [{ path, text: mark, start, end: start + mark.length }] : [],
  );

/** The files of the forum that a text has; not those in what it quotes. */
export const filesIn = (text: string): readonly Mark[] => {
  const paths = [...text.matchAll(MARK)].map(({ 1: path = '' }) => path);
  const marks = marksIn(text, new Set(paths.filter((path) => path.startsWith('/uploads/'))));
  return marks.filter(({ start }) => text[text.lastIndexOf('\n', start) + 1] !== '>');
};

interface Swap {
  /** The file that changes its place with it. */
  readonly other: string;
  readonly start: number;
  readonly end: number;
  /** What stands from start to end afterwards. */
  readonly text: string;
  /** Its place from then on, counted from 1. */
  readonly at: number;
}
/** How a file comes one place earlier (-1) or later (1) among these; undefined where it cannot. */
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
