import { sql, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { listCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';
import { reactionAdded, reactionRemoved } from 'parley-forum/ports/reactions';

interface RulesDeps {
  readonly data: Data;
  readonly discussions: Pick<Discussions, 'readablePosts'>;
}
interface Reacted {
  readonly post_id: string;
}

/**
 * Events about reactions are visible to viewers who may read the post now. They name the discussion that it is in now,
 * as the one it was moved from may be hidden from them.
 */
export function reactionRules({ data, discussions }: RulesDeps): readonly EventRule[] {
  const visible = async (about: readonly object[], viewer: Viewer): Promise<readonly (false | object)[]> => {
    const requested = about as readonly Reacted[];
    const ids = [...new Set(requested.map((event) => event.post_id))];
    const rows = await data.all(sql<{ id: string; discussion_id: string }>`
      select p.id, p.discussion_id from (${await discussions.readablePosts(viewer)}) p
      where p.id = any(${ids}::uuid[])`);
    const now = new Map(rows.map((row) => [row.id, row.discussion_id]));
    return requested.map((event) => {
      const discussion = now.get(event.post_id);
      return discussion !== undefined && { ...event, discussion_id: discussion };
    });
  };
  const tags = listCacheTags;
  return [reactionAdded, reactionRemoved].map((hook) => ({ hook, visible, tags }));
}
