import type { Viewer } from 'parley-forum/plugins/access';
import { listCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';
import { reactionAdded, reactionRemoved } from 'parley-forum/ports/reactions';

interface Reacted {
  readonly post_id: string;
}

/**
 * Events about reactions are visible to viewers who may read the post now. They name the discussion that it is in now,
 * as the one it was moved from may be hidden from them.
 */
export function reactionRules(discussions: Pick<Discussions, 'discussionsOf'>): readonly EventRule[] {
  const visible = async (about: readonly object[], viewer: Viewer): Promise<readonly (false | object)[]> => {
    const requested = about as readonly Reacted[];
    const now = await discussions.discussionsOf(
      requested.map((event) => event.post_id),
      viewer,
    );
    return requested.map((event) => {
      const discussion = now.get(event.post_id);
      return discussion !== undefined && { ...event, discussion_id: discussion };
    });
  };
  return [reactionAdded, reactionRemoved].map((hook) => ({ hook, visible, tags: listCacheTags }));
}
