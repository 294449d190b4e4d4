import { defineExtensionPoint, type Action, type Awaitable } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

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
   * equal rights (`Access.signature`), unless it is `personal`.
   */
  visible(data: readonly object[], viewer: Viewer): Awaitable<readonly (boolean | object)[]>;
  /** Its answer depends on who the viewer is, too, as of what is about themselves: on the live stream each is asked for alone. */
  readonly personal?: true;
  /** Cache tags that are purged whenever it may answer something else; without them no answer of the log is cached. */
  readonly tags?: readonly string[];
}
export const eventRules = defineExtensionPoint<EventRule>(
  'events.rules',
  'Who may receive a public action from event log, live stream and webhooks; added by the plugin that owns the hook.',
);
