import type { PluginHandle } from 'parley-forum';
import { postLooksChanged, type PostHead } from 'parley-forum/plugins/discussions';
import type { Live } from 'parley-forum/ports/live';

/** Milliseconds between two signals about the same post. */
const INTERVAL = 3_000;

/**
 * Tells open pages that the reactions to a post changed: at once, and if more changes follow, once at the end of each
 * interval.
 */
export function createSignaller(plugin: PluginHandle, live: Pick<Live, 'send'>): (post: PostHead) => void {
  /** Posts about which a signal was sent recently, and whether they have changed since then. */
  const recent = new Map<string, { readonly timer: NodeJS.Timeout; again: boolean }>();
  const send = (post: PostHead): void => {
    live.send(postLooksChanged, { discussion_id: post.discussion.id, number: post.number });
    const timer = setTimeout(() => {
      const again = recent.get(post.id)?.again;
      recent.delete(post.id);
      if (again) send(post);
    }, INTERVAL).unref();
    recent.set(post.id, { timer, again: false });
  };
  plugin.defer(() => recent.forEach(({ timer }) => clearTimeout(timer)));
  return (post) => {
    const sent = recent.get(post.id);
    if (sent) sent.again = true;
    else send(post);
  };
}
