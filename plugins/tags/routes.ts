import { Type, type Clock, type PluginHandle, type Settings } from 'parley-forum';
import { accessTag, type Viewer } from 'parley-forum/plugins/access';
import { api, limitOf, listOf, pageFields, pageOf, Paging, pagingResult } from 'parley-forum/plugins/api';
import { SORTS, discussionCacheTags, listCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import { TagRecord, tagsTag } from 'parley-forum/ports/tags';
import { RENDERED_TTL, renderedTag, type Web } from 'parley-forum/plugins/web';
import { keyOf } from './names.ts';
import type { TagCounts } from './tag-counts.ts';
import type { TagService } from './tag-service.ts';
import type { VisibleTags } from './visible-tags.ts';

export interface TagDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly tags: TagService;
  readonly counts: TagCounts;
  readonly visible: VisibleTags;
  readonly discussions: Discussions;
  readonly web: Web | undefined;
}
/** Cache tags of responses that show discussions, or tags with their counts. */
export const shownTags: readonly string[] = [tagsTag, ...listCacheTags, accessTag];

/** Most used first. Equally used tags keep their order by name. */
export const byUsage = (a: TagRecord, b: TagRecord): number => b.discussion_count - a.discussion_count;

/** Finds the tag that a path names by id or slug, as the caller may see it. */
export const findTag =
  (visible: VisibleTags) =>
  ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<TagRecord | undefined> =>
    visible.find(params['slug'] ?? params['id'] ?? '', actor);

const IdOrSlug = Type.String({ minLength: 1, maxLength: 100 });

/** /api/tags and below. */
export function tagRoutes({ plugin, settings, clock, visible, discussions, web }: TagDeps): void {
  const cacheTags = (): readonly string[] => shownTags;

  plugin.route(api, {
    method: 'get',
    path: '/tags',
    can: 'public',
    summary: 'All tags of discussions the caller may see, most used first',
    query: Type.Object({
      ...Paging,
      q: Type.Optional(Type.String({ maxLength: 100, description: 'Part of the name, case-insensitive' })),
    }),
    result: listOf('tags', TagRecord),
    cacheTags,
  })(async ({ actor, query }) => {
    const part = keyOf(query.q ?? '');
    const named = (await visible.visible(actor)).filter(({ name }) => keyOf(name).includes(part));
    const page = pageOf(named.toSorted(byUsage), {
      ...query,
      limit: limitOf(settings, query.limit),
    });
    return { tags: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/tags/:id',
    can: 'public',
    summary: 'One tag, by id or slug',
    params: Type.Object({ id: IdOrSlug }),
    result: Type.Object({ tag: TagRecord }),
    load: findTag(visible),
    cacheTags,
  })(({ target }) => ({ tag: target }));

  plugin.route(api, {
    method: 'get',
    path: '/tags/:slug/discussions',
    can: 'public',
    summary: 'Discussions with a tag, by its id or slug',
    params: Type.Object({ slug: IdOrSlug }),
    query: Type.Object({ ...Paging, sort: Type.Optional(Type.Enum([...SORTS])) }),
    result: Type.Object({ discussions: Type.Array(discussions.record), html: Type.String(), ...pagingResult }),
    load: findTag(visible),
    cacheTags: () => [...shownTags, discussionCacheTags.views, renderedTag],
  })(async (call) => {
    const { actor, target, query } = call;
    const { sort, limit, offset, cursor } = query;
    const page = await discussions.list(
      { within: visible.discussionsWith(target.id), sort, offset, cursor, limit: limitOf(settings, limit) },
      actor,
    );
    if (web) call.expiresAt = clock.now() + RENDERED_TTL;
    const html = await web?.fragment(
      actor,
      '@discussions/rows',
      { discussions: await discussions.listItems(page.items) },
      { inSiteLanguage: true },
    );
    return { discussions: [...page.items], html: html?.toString() ?? '', ...pageFields(page) };
  });
}
