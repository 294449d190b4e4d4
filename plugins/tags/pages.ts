import { Paging } from 'parley-forum/plugins/api';
import { Type } from 'parley-forum';
import {
  composerFields,
  discussionCacheTags,
  headAfterTitle,
  ListPartQuery,
  SORTS,
  type ComposerSlot,
  type DiscussionRecord,
} from 'parley-forum/plugins/discussions';
import { pageVisibilityRules } from 'parley-forum/ports/page-visibility';
import type { TagReference } from 'parley-forum/plugins/tags';
import {
  composerCompletion,
  fill,
  html,
  navigation,
  pagerOf,
  pages,
  phrase,
  shared,
  slotFillings,
  view,
  type SafeHtml,
  type Web,
} from 'parley-forum/plugins/web';
import { listed, type Assignments } from './assignments.ts';
import { byUsage, findTag, shownTags, type TagDeps } from './routes.ts';

/** Tags per page. */
const PAGE = 100;
const Page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }));
const cacheTags = (): readonly string[] => shownTags;
const pathOf = (tag: { readonly slug: string }): string => `/t/${encodeURIComponent(tag.slug)}`;

/** /tags and /t/{slug}. */
export function tagPages({ plugin, visible, discussions }: TagDeps): void {
  plugin.extend(navigation, { area: 'main', label: 'tags:nav.tags', href: '/tags', icon: 'tag' }, -8);
  plugin.extend(pageVisibilityRules, {
    prefixes: ['/t/'],
    tags: shownTags,
    async visible(paths, viewer) {
      const known = new Map(
        (await visible.visible(viewer)).map((tag) => [`/t/${tag.slug}`, { path: pathOf(tag), title: tag.name }]),
      );
      return paths.map((path) => known.get(path));
    },
  });

  plugin.route(pages, {
    method: 'get',
    path: '/tags',
    can: 'public',
    query: Type.Object({ page: Page }),
    cacheTags,
  })(({ query: { page = 1 } }) =>
    shared(async (actor) => {
      const all = (await visible.visible(actor)).toSorted(byUsage);
      const last = Math.max(1, Math.ceil(all.length / PAGE));
      const pager = pagerOf(Math.min(page, last), last, '/tags');
      const shown = all.slice((pager.page - 1) * PAGE, pager.page * PAGE);
      return view(
        '@tags/tags',
        {
          name: 'tags',
          title: phrase('tags:title'),
          canonical: pager.page > 1 ? `/tags?page=${pager.page}` : '/tags',
          current: '/tags',
        },
        { tags: shown, pager },
      );
    }),
  );

  plugin.route(pages, {
    method: 'get',
    path: '/t/:slug',
    can: 'public',
    query: Type.Object({
      ...ListPartQuery,
      page: Page,
      cursor: Paging.cursor,
      sort: Type.Optional(Type.Enum([...SORTS])),
    }),
    load: findTag(visible),
    cacheTags: ({ query }) => (query.sort === 'most_viewed' ? [...shownTags, discussionCacheTags.views] : shownTags),
  })(({ query: { category, tag, ...query }, target }) =>
    shared(async (actor) => {
      const path = pathOf(target);
      const list = await discussions.listPage(
        {
          ...query,
          path,
          part: { category, tag },
          within: visible.discussionsWith(target.id),
          total: target.discussion_count,
        },
        actor,
      );
      return view(
        '@tags/tag',
        { name: 'tag', title: target.name, canonical: list.canonical, current: '/tags', subject: target.id },
        { ...list, tag: target },
      );
    }),
  );
}

/**
 * The tags below a discussion's title, and the tag field where a discussion is written. Rows of lists use the record's
 * field.
 */
export function tagSlots(
  { plugin }: TagDeps,
  { assignments, web, max }: { assignments: Assignments; web: Web; max: () => number },
): void {
  const links = (tags: readonly TagReference[]): SafeHtml | undefined =>
    tags.length === 0
      ? undefined
      : html`<p class="row">${tags.map((tag) => html`<a class="tag" href="${pathOf(tag)}" dir="auto">${tag.name}</a>`)}</p>`;
  const below = async (records: readonly DiscussionRecord[]) =>
    (await assignments.of(records.map(({ id }) => id))).map(links);
  plugin.extend(slotFillings, fill(headAfterTitle, below, { shared: true }));
  const names = html`<x-complete-tag data-trigger="#"></x-complete-tag>`;
  plugin.extend(
    slotFillings,
    fill(composerCompletion, (places) => places.map(() => names), { shared: true }),
  );

  const chosen = async ({ discussion, values }: ComposerSlot): Promise<string> => {
    if (values['tags'] !== undefined || !discussion) return [values['tags'] ?? []].flat().join(', ');
    const [tags = []] = await assignments.of([discussion.id]);
    return listed(tags);
  };
  plugin.extend(
    slotFillings,
    fill(composerFields, (contexts, viewer) =>
      Promise.all(
        contexts.map(async (context) =>
          context.writes === 'discussion'
            ? web.fragment(viewer, '@tags/field', {
                value: await chosen(context),
                problem: context.wrong?.['tags'],
                max: max(),
              })
            : undefined,
        ),
      ),
    ),
  );
}
