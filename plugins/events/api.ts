import { defineExtensionPoint, defineToken, type Action, type Awaitable } from '#core';
import type { Viewer } from '#plugins/access';

/** An entry of the event log: something an integrator may be told, in the order in which it may be told. */
export interface LoggedEvent {
  /** Ascending without gaps that fill later: whoever has read up to one position never misses an earlier one. */
  readonly position: number;
  /** The same for every way the event goes out: webhooks, streams, this log. */
  readonly id: string;
  /** The hook's id. */
  readonly event: string;
  readonly timestamp: string;
  /** What the hook's `public` schema lets through. */
  readonly data: object;
}

/**
 * Who may be told of an action that has a `public` schema. Added by the plugin that owns the hook; an action without a rule is for
 * administrators only. Asked when an event is handed out, so that what was hidden, moved or deleted since is not told.
 */
export interface EventRule<P = any> {
  readonly hook: Action<P>;
  /** For each of `data` (as it was published), in order. One statement at most, whatever their number. */
  visible(data: readonly object[], viewer: Viewer): Awaitable<readonly boolean[]>;
}
export const eventRules = defineExtensionPoint<EventRule>('events.rules');

export interface EventLog {
  /** What the viewer may see after a position, oldest first; `position` is where to go on, also when nothing was visible. */
  after(position: number, limit: number, viewer: Viewer): Promise<{ readonly events: readonly LoggedEvent[]; readonly position: number; readonly hasMore: boolean }>;
  /** Of these entries, those the viewer may see. */
  visible(events: readonly LoggedEvent[], viewer: Viewer): Promise<readonly LoggedEvent[]>;
  /** The newest position; 0 while the log is empty. */
  last(): Promise<number>;
  /** Runs in every process soon after entries were added, with those entries. Undone by the returned function. */
  watch(run: (events: readonly LoggedEvent[]) => void): () => void;
}
export const EventLog = defineToken<EventLog>('EventLog');
