import { defineToken, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** An entry of the event log: an event that an integrator may receive, in order. */
export interface LoggedEvent {
  /** Ascending. Gaps are never filled later: a client that has read up to one position never misses an earlier one. */
  readonly position: number;
  /** The same in webhooks, streams and this log. */
  readonly id: string;
  /** Id of the hook. */
  readonly event: string;
  /** When it was raised. */
  readonly timestamp: string;
  /** The data as filtered by the hook's `public` schema. */
  readonly data: object;
}

/** Cache tag of everything that shows entries of the log. */
export const eventsTag = 'events';

/** Query parameters for the position after which to continue and the events to return. */
export const After = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The last `position` read',
});
export const EventNames = Type.String({
  pattern: '^[a-z0-9_.-]+(,[a-z0-9_.-]+)*$',
  'x-pattern-problem': 'must be event names separated by commas, without spaces',
  maxLength: 500,
  description: 'Comma-separated event names, such as `post.created,post.deleted`',
});

/** The events found after a position. */
export interface EventPage {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /** The position from which to continue, even if no event was visible. */
  readonly position: number;
  readonly hasMore: boolean;
}

/** The public actions of the last days in order, filtered by who may receive each. */
export interface EventLog {
  /**
   * Returns those of the next `limit` entries after a position that the viewer may see. With `names`, only entries of
   * these names count; the first `offset` entries are skipped. Throws 503 if a rule fails.
   */
  after(
    position: number,
    limit: number,
    viewer: Viewer,
    names?: readonly string[],
    offset?: number,
  ): Promise<EventPage>;
  /**
   * Returns those of the entries that the viewer may see, in the form they may see them. Throws 503 if a rule fails.
   */
  visible(events: readonly LoggedEvent[], viewer: Viewer): Promise<readonly LoggedEvent[]>;
  /** Whether viewers of equal rights may see different events of this name. */
  personal(name: string): boolean;
  /** The oldest and the newest position in the log; both 0 while it is empty. */
  bounds(): Promise<{ readonly oldest: number; readonly newest: number }>;
  /**
   * Calls `run` in every process soon after entries were added, with those entries. The returned function unsubscribes.
   */
  watch(run: (events: readonly LoggedEvent[]) => void): () => void;
}
export const EventLog = defineToken<EventLog>('EventLog');
