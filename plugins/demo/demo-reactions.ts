import { Random } from './random.ts';

/** A reaction in the format of the field `reactions` of an imported post. */
export interface DemoReaction {
  readonly reaction: string;
  readonly user_id: string;
  readonly created_at: string;
}
interface ReactedPost {
  readonly authorId: string;
  readonly createdAt: Date;
}

const DAY = 86_400_000;
/** The share of each reaction, in percent. */
const KINDS: readonly (readonly [reaction: string, share: number])[] = [
  ['like', 52],
  ['thanks', 20],
  ['love', 11],
  ['laugh', 9],
  ['wow', 5],
  ['sad', 3],
];
const SHARES = KINDS.flatMap(([reaction, share]) => Array.from({ length: share }, () => reaction));
/** The maximum number of reactions to a first post and to a reply. */
const MOST = { first: 9, reply: 5 } as const;

/** Generates reactions, deterministically: more to first posts than to replies, and none to one's own posts. */
export class ReactionGenerator {
  readonly #random = new Random(1_974);
  readonly #members: readonly string[];
  readonly #now: number;

  constructor(members: Iterable<string>, now: number) {
    this.#members = [...members];
    this.#now = now;
  }

  reactionsTo({ authorId, createdAt }: ReactedPost, first: boolean): readonly DemoReaction[] {
    const count = Math.floor(this.#random.next() ** 2 * (first ? MOST.first : MOST.reply));
    const begin = createdAt.getTime();
    const listeners = new Set(Array.from({ length: count }, () => this.#random.pickEarly(this.#members)));
    listeners.delete(authorId);
    return [...listeners].map((userId) => {
      const time = begin + this.#random.next() * Math.min(3 * DAY, Math.max(0, this.#now - begin));
      return { reaction: this.#random.pick(SHARES), user_id: userId, created_at: new Date(time).toISOString() };
    });
  }
}
