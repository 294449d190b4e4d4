import { sql, Type, type Cache, type Data, type PluginHandle } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';

/** Number of posts checked in one transaction. */
const BATCH = 1_000;

interface ImageRecheckDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly cache: Cache;
  readonly markdown: Markdown;
}

/**
 * The images in stored HTML were checked when it was written. If the rules for images have since changed, because they
 * became stricter or the site has a new URL, a background job checks all of it again, in batches that survive a
 * restart.
 */
export async function recheckImages({ plugin, data, cache, markdown: { permitted } }: ImageRecheckDeps): Promise<void> {
  const job = plugin.job<{ readonly rule: string; readonly after?: string }>('pictures', {
    schema: Type.Object({ rule: Type.String(), after: Type.Optional(Type.String()) }),
    key: ({ rule }) => rule,
    perKey: 1,
    // Each attempt does one batch, and schedules the next one in the same transaction.
    run: async ({ rule, after }, { continueWith }) => {
      // The rules have changed again, and another job checks by the current ones.
      if (rule !== permitted.rule) return;
      const changed = await data.transaction(async () => {
        const posts = await data.all(sql<{
          id: string;
          html: string | null;
        }>`select id, case when html like '%<img%' then html end as html from post
          where ${after === undefined ? sql`true` : sql`id > ${after}`} order by id limit ${BATCH}`);
        let some = false;
        for (const { id, html } of posts) {
          const checked = html === null ? null : permitted.images(html);
          if (checked === html) continue;
          // Posts edited in the meantime were checked when they were edited.
          await data.all(sql`update post set html = ${checked} where id = ${id} and html = ${html}`);
          some = true;
        }
        if (posts.length === BATCH) await continueWith({ rule, after: posts.at(-1)!.id });
        else await data.all(sql`update post_pictures set rule = ${rule}`);
        return some;
      });
      if (changed) await cache.purge(discussionCacheTags.lists, discussionCacheTags.all);
    },
  });
  // If there are no posts yet, all future ones are written under this rule.
  await data.all(sql`update post_pictures set rule = ${permitted.rule} where not exists (select 1 from post)`);
  const due = await data.one(sql`select 1 as due from post_pictures where rule is distinct from ${permitted.rule}`);
  if (due) await job.add({ rule: permitted.rule }, { once: true });
}
