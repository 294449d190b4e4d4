import { sql, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { answerAccepted, answerWithdrawn } from 'parley-forum/plugins/answers';
import { listCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';

interface RulesDeps {
  readonly data: Data;
  readonly discussions: Pick<Discussions, 'readablePosts'>;
}
interface Answered {
  readonly discussion_id: string;
  readonly post_id: string;
}

/** Events about answers are visible to viewers who may read the answer now, in the discussion that it answered. */
export function answerRules({ data, discussions }: RulesDeps): readonly EventRule[] {
  const visible = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const requested = about as readonly Answered[];
    const ids = [...new Set(requested.map((event) => event.post_id))];
    const rows = await data.all(sql<{ id: string; discussion_id: string }>`
      select p.id, p.discussion_id from (${await discussions.readablePosts(viewer)}) p
      where p.id = any(${ids}::uuid[])`);
    const now = new Map(rows.map((row) => [row.id, row.discussion_id]));
    return requested.map((event) => now.get(event.post_id) === event.discussion_id);
  };
  const tags = listCacheTags;
  return [answerAccepted, answerWithdrawn].map((hook) => ({ hook, visible, tags }));
}
