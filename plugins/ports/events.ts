import { defineExtensionPoint, type Action, type Awaitable } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * Decides who may receive an action that has a `public` schema. Added by the plugin that owns the hook; an action
 * without a rule goes to administrators only. Evaluated when an event is delivered, so that anything hidden, moved or
 * deleted since then is left out.
 */
export interface EventRule<P = any> {
  readonly hook: Action<P>;
  /**
   * For each of `data` (as it was published), in order: whether it is visible, or a replacement for it, such as the
   * current text of a post that was edited since. Runs at most one statement, however many there are. The result must
   * be the same for viewers of equal rights (`Access.signature`), unless the rule is `personal`.
   */
  visible(data: readonly object[], viewer: Viewer): Awaitable<readonly (boolean | object)[]>;
  /**
   * The result also depends on who the viewer is, as for events about themselves; the live stream then asks for each
   * viewer separately.
   */
  readonly personal?: true;
  /** Cache tags purged whenever the result may change; without them, no response containing events is cached. */
  readonly tags?: readonly string[];
}
export const eventRules = defineExtensionPoint<EventRule>(
  'events.rules',
  'Who may receive a public action through the event log, the live stream and webhooks; added by the plugin that owns the hook.',
);
