import { Random } from './random.ts';

/** A mark in the format of the field `last_read_number` of an imported discussion. */
export interface DemoReadMark {
  readonly user_id: string;
  readonly last_read_number: number;
  readonly read_at: string;
}
interface ReadPost {
  readonly authorId: string;
  readonly createdAt: Date;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/**
 * Hours since the last visit of each member who can log in. They read up to that time, which is later than anything
 * they wrote.
 */
const AWAY: Readonly<Record<string, number>> = { ingrid: 30, 'mira.k': 60, 'nadia.r': 84 };
/** Milliseconds. Only discussions whose last post is more recent than this get marks. */
const KNOWN = 30 * DAY;
/**
 * The share of discussions they did not write in that they never opened, and that they read only up to a point on an
 * earlier visit.
 */
const NEVER = 0.1;
const EARLIER = 0.4;
/** The maximum number of milliseconds between that visit and the last one. */
const BEFORE = 10 * DAY;

/** When a member was last here; members who cannot log in were here just now. */
export const lastVisitOf = (username: string, now: number): number => now - (AWAY[username] ?? 0) * HOUR;

/** Generates, deterministically, how far the members who can log in have read, as if they came by every few days. */
export class ReadingGenerator {
  readonly #random = new Random(1_912);
  readonly #readers: readonly { readonly id: string; readonly lastVisit: number }[];
  readonly #now: number;

  /** `members` are ids by username. */
  constructor(members: ReadonlyMap<string, string>, now: number) {
    this.#readers = Object.keys(AWAY).flatMap((username) => {
      const id = members.get(username);
      return id === undefined ? [] : [{ id, lastVisit: lastVisitOf(username, now) }];
    });
    this.#now = now;
  }

  marksIn(posts: readonly ReadPost[]): readonly DemoReadMark[] {
    if (posts.at(-1)!.createdAt.getTime() < this.#now - KNOWN) return [];
    return this.#readers.flatMap(({ id, lastVisit }) => {
      const [opened, earlier] = [this.#random.next() >= NEVER, this.#random.next() < EARLIER];
      const visit = lastVisit - (earlier ? this.#random.next() * BEFORE : 0);
      const wrote = posts.findLast(({ authorId }) => authorId === id)?.createdAt.getTime() ?? 0;
      const readAt = Math.max(visit, wrote);
      const read = posts.filter(({ createdAt }) => createdAt.getTime() <= readAt).length;
      if (read === 0 || (wrote === 0 && !opened)) return [];
      return [{ user_id: id, last_read_number: read, read_at: new Date(readAt).toISOString() }];
    });
  }
}
