import type { Viewer } from 'parley-forum/plugins/access';
import { answerAccepted, answerWithdrawn } from 'parley-forum/plugins/answers';
import { listCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';

interface Answered {
  readonly discussion_id: string;
  readonly post_id: string;
}

/** Events about answers are visible to viewers who may read the answer now, in the discussion that it answered. */
export function answerRules(discussions: Pick<Discussions, 'discussionsOf'>): readonly EventRule[] {
  const visible = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const requested = about as readonly Answered[];
    const now = await discussions.discussionsOf(
      requested.map((event) => event.post_id),
      viewer,
    );
    return requested.map((event) => now.get(event.post_id) === event.discussion_id);
  };
  return [answerAccepted, answerWithdrawn].map((hook) => ({ hook, visible, tags: listCacheTags }));
}
