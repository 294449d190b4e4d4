import { Type, type PluginHandle } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { discussionCacheTags, listCacheTags, discussionRail, type Discussions } from 'parley-forum/plugins/discussions';
import { api, IdParams } from 'parley-forum/plugins/api';
import { searchTag, type Search } from 'parley-forum/plugins/search';
import { fill, pages, phrase, shared, slotFillings, view, type Web } from 'parley-forum/plugins/web';

const pathOf = (number: number): string => `/d/${number}/related`;

/** GET /api/discussions/{id}/related. */
export function addRelatedRoute(plugin: PluginHandle, search: Search, discussions: Discussions): void {
  plugin.route(api, {
    method: 'get',
    path: '/discussions/:id/related',
    can: 'public',
    summary: 'Discussions related to this one, closest first; a few at most',
    params: IdParams,
    result: Type.Object({ discussions: Type.Array(discussions.record) }),
    load: ({ actor, params }) => discussions.find(params.id, actor),
  })(async ({ actor, target }) => ({ discussions: [...(await search.related(target, actor))] }));
}

/**
 * /d/{number}/related, and the same list next to a discussion, fetched by script when it comes near the screen. It is
 * not part of the page, because the results change with every new discussion, and a page of posts would have to be
 * rendered again each time.
 */
export function addRelated(
  plugin: PluginHandle,
  search: Search,
  { discussions, web }: { readonly discussions: Discussions; readonly web: Web },
): void {
  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/related',
    can: 'public',
    load: ({ actor, params }) => discussions.find(params['address'] ?? '', actor),
    cacheTags: ({ target }) => [discussionCacheTags.discussion(target.id), ...listCacheTags, accessTag, searchTag],
    summary: 'Discussions related to this one.',
  })(({ target }) =>
    shared(async (viewer) => {
      const found = await discussions.listItems(await search.related(target, viewer));
      const head = { name: 'related', title: phrase('search:related.to', { title: target.title }), noindex: true };
      return view('@search/related', head, { number: target.number, title: target.title, discussions: found });
    }),
  );

  const panel = fill(
    discussionRail,
    (shown, viewer) =>
      Promise.all(shown.map(({ number }) => web.fragment(viewer, '@search/related-panel', { path: pathOf(number) }))),
    { shared: true },
  );
  plugin.extend(slotFillings, panel);
}
