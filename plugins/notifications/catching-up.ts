import { Type, type Data, type PluginHandle, type Settings } from '#core';
import type { Discussions, MirroredPost } from '#plugins/discussions';
import type { Follower } from './mirror.ts';

export interface CatchingUpParts {
  readonly data: Data;
  readonly settings: Settings;
  readonly discussions: Discussions;
  readonly follower: Follower;
}
const KEY = 'notifications.stopped_at';
/** Posts that are looked at in one transaction. */
const PAGE = 200;

/** While the plugin is switched off discussions are moved and deleted without it: where it stopped is noted, and gone through when it is back. */
export async function addCatchingUp(plugin: PluginHandle<{ readonly [KEY]: string }>, parts: CatchingUpParts): Promise<void> {
  const { data, settings, discussions, follower } = parts;
  const page = (after: string | undefined, since: string): Promise<readonly MirroredPost[]> => data.transaction(async (em) => {
    const posts = await discussions.mirrored(after, PAGE, since);
    await follower.posts(em, posts);
    // A post that was deleted by itself does not say whether its discussion is there.
    const telling = new Map(posts.filter(({ removed }) => !removed).map((post) => [post.discussionId, post]));
    for (const { discussionId: id, title, categoryId, visible } of telling.values()) await follower.discussion(em, { id, title, categoryId, visible });
    return posts;
  });
  const job = plugin.job<{ readonly since: string }>('catch-up', {
    schema: Type.Object({ since: Type.String() }),
    run: async ({ since }, { signal }) => {
      let after: string | undefined;
      for (;;) {
        signal.throwIfAborted();
        const posts = await page(after, since);
        if (posts.length < PAGE) return;
        after = posts.at(-1)!.id;
      }
    },
  });
  plugin.defer(async () => settings.set({ [KEY]: await discussions.mark() }));
  const since = plugin.settings[KEY];
  if (since === '') return;
  await job.add({ since });
  await settings.reset([KEY]);
}
