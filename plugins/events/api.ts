import { defineToken, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** An entry of the event log: something an integrator may receive, in order. */
export interface LoggedEvent {
  /** Ascending without gaps that fill later: whoever has read up to one position never misses an earlier one. */
  readonly position: number;
  /** The same for every way the event goes out: webhooks, streams, this log. */
  readonly id: string;
  /** The hook's id. */
  readonly event: string;
  /** When it was raised. */
  readonly timestamp: string;
  /** What the hook's `public` schema lets through. */
  readonly data: object;
}

/** Cache tag of what shows the log's entries. */
export const eventsTag = 'events';

/** How addresses say from where to go on, and of what. */
export const After = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The last `position` that was read',
});
export const EventNames = Type.String({
  pattern: '^[a-z0-9_.-]+(,[a-z0-9_.-]+)*$',
  'x-pattern-problem': 'must be names of events with commas between and no spaces',
  maxLength: 500,
  description: 'Names with commas between them, such as `post.created,post.deleted`',
});

/** What was found after a position. */
export interface EventPage {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /** Where to go on, also when nothing was visible. */
  readonly position: number;
  readonly hasMore: boolean;
}

/** The public actions of the last days in order, for whoever may receive each. */
export interface EventLog {
  /**
   * What the viewer may see of the next `limit` entries after a position, or of the next ones of these `names`, the
   * first `offset` left out. 503 when a rule does not answer.
   */
  after(
    position: number,
    limit: number,
    viewer: Viewer,
    names?: readonly string[],
    offset?: number,
  ): Promise<EventPage>;
  /** Of these entries, those the viewer may see, as they may see them. 503 when a rule does not answer. */
  visible(events: readonly LoggedEvent[], viewer: Viewer): Promise<readonly LoggedEvent[]>;
  /** Whether viewers of equal rights may see different events of this name. */
  personal(name: string): boolean;
  /** The oldest and the newest position that are kept; both 0 while the log is empty. */
  bounds(): Promise<{ readonly oldest: number; readonly newest: number }>;
  /** Runs in every process soon after entries were added, with those entries. Undone by the returned function. */
  watch(run: (events: readonly LoggedEvent[]) => void): () => void;
}
export const EventLog = defineToken<EventLog>('EventLog');
