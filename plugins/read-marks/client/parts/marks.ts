import { page, store } from '@forum/client';

/** How far discussions were read, by `d` and their numbers: keys of digits alone would not stay in their order. */
type Marks = Record<string, number>;
const KEY = 'read-marks';
/** Discussions of which a browser keeps marks; those that were read on last stay. */
const MOST = 500;

/** Members' marks are the server's: here are those of this tab, for rows that were made before. */
const session = {
  get: (): string | null => {
    try {
      return sessionStorage.getItem(KEY);
    } catch {
      return null;
    }
  },
  set: (text: string): void => {
    try {
      sessionStorage.setItem(KEY, text);
    } catch {
      // The rows of a page one comes back to then stay as they were.
    }
  },
};

function read(): Marks {
  try {
    return JSON.parse((page.member ? session.get() : store.get(KEY)) ?? '{}') as Marks;
  } catch {
    return {};
  }
}

export const markOf = (discussion: string): number => read()[`d${discussion}`] ?? 0;

/** 0 forgets it. */
export function setMark(discussion: string, number: number): void {
  const { [`d${discussion}`]: _before, ...others } = read();
  const marks = Object.fromEntries(Object.entries(others).slice(1 - MOST));
  const text = JSON.stringify(number > 0 ? { ...marks, [`d${discussion}`]: number } : marks);
  if (page.member) session.set(text);
  else store.set(KEY, text);
}
