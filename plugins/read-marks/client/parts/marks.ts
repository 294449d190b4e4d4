import { page, store } from '@forum/client';

/** How far discussions were read, by `d` and their number: purely numeric keys would not keep insertion order. */
type Marks = Record<string, number>;
const KEY = 'read-marks';
/** The maximum number of discussions a browser keeps marks for; the most recently read ones are kept. */
const MOST = 500;

/**
 * Members' marks are stored on the server. This holds only those of this tab, for rows rendered before they changed.
 */
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
      // Then the rows of a page the visitor returns to are not updated.
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

/** 0 deletes the mark. */
export function setMark(discussion: string, number: number): void {
  const { [`d${discussion}`]: _before, ...others } = read();
  const marks = Object.fromEntries(Object.entries(others).slice(1 - MOST));
  const text = JSON.stringify(number > 0 ? { ...marks, [`d${discussion}`]: number } : marks);
  if (page.member) session.set(text);
  else store.set(KEY, text);
}
