import { defineExtensionPoint, defineToken, Type, type Action, type Awaitable } from 'parley-forum';
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

/**
 * Who may receive an action that has a `public` schema. Added by the plugin that owns the hook; an action without a
 * rule is for administrators only. Asked when an event is handed out, so that what was hidden, moved or deleted since
 * is left out.
 */
export interface EventRule<P = any> {
  readonly hook: Action<P>;
  /**
   * For each of `data` (as it was published), in order: whether it is visible, or what replaces it, such as
   * today's text of a post that was edited since. One statement at most, whatever their number; the same for viewers of
   * equal rights (`Access.signature`).
   */
  visible(data: readonly object[], viewer: Viewer): Awaitable<readonly (boolean | object)[]>;
  /** Cache tags that are purged whenever it may answer something else; without them no answer of the log is cached. */
  readonly tags?: readonly string[];
}
export const eventRules = defineExtensionPoint<EventRule>(
  'events.rules',
  'Who may receive a public action from event log, live stream and webhooks; added by the plugin that owns the hook.',
);

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
  /** The oldest and the newest position that are kept; both 0 while the log is empty. */
  bounds(): Promise<{ readonly oldest: number; readonly newest: number }>;
  /** Runs in every process soon after entries were added, with those entries. Undone by the returned function. */
  watch(run: (events: readonly LoggedEvent[]) => void): () => void;
}
export const EventLog = defineToken<EventLog>('EventLog');
