import { Type, type Data, type PluginHandle, type Settings } from 'parley-forum';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { DiscussionProjection } from './projection.ts';

export interface BackfillDeps {
  readonly data: Data;
  readonly settings: Settings;
  readonly discussions: Discussions;
  readonly projection: DiscussionProjection;
}
const KEY = 'notifications.stopped_at';
/** Posts processed in one transaction. */
const PAGE = 200;

/**
 * While the plugin is off discussions are moved and deleted without it: it stores a checkpoint when it stops, and a job
 * processes the changes since then when it starts.
 */
export async function addBackfill(plugin: PluginHandle<{ readonly [KEY]: string }>, deps: BackfillDeps): Promise<void> {
  const { data, settings, discussions, projection } = deps;
  // One batch an attempt, which leaves the rest to the next one in the same transaction: a stop loses nothing of what
  // was done.
  const job = plugin.job<{ readonly since: string; readonly after?: string }>('catch-up', {
    schema: Type.Object({ since: Type.String(), after: Type.Optional(Type.String()) }),
    run: ({ since, after }, { continueWith }) =>
      data.transaction(async (em) => {
        const posts = await discussions.projectedPosts(after, PAGE, since);
        await projection.posts(em, posts);
        // A post that was deleted by itself does not say whether its discussion is there.
        const latest = new Map(posts.filter(({ removed }) => !removed).map((post) => [post.discussionId, post]));
        for (const { discussionId: id, title, categoryId, visible } of latest.values())
          await projection.discussion(em, { id, title, categoryId, visible });
        if (posts.length === PAGE) await continueWith({ since, after: posts.at(-1)!.id });
      }),
  });
  plugin.defer(async () => settings.set({ [KEY]: await discussions.checkpoint() }));
  const since = plugin.settings[KEY];
  if (since === '') return;
  await job.add({ since });
  await settings.reset([KEY]);
}
