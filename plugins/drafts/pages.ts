import { notFound, Type } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { composerFields, listTabs, type Discussions } from 'parley-forum/plugins/discussions';
import { fill, html, navigation, pagerOf, pages, phrase, redirect, slotFillings, view } from 'parley-forum/plugins/web';
import type { DraftStore } from './draft-store.ts';
import type { RouteDeps } from './routes.ts';

export interface PageDeps extends RouteDeps {
  readonly discussions: Discussions;
  readonly store: DraftStore;
}
const LIST = '/drafts';
/** Rows of a page. */
const PAGE = 20;
/** Drafts that are discarded at once. */
const MOST_CHOSEN = 100;
const Key = Type.String({ maxLength: 100 });
const addressOf = (page: number): string => (page > 1 ? `${LIST}?page=${page}` : LIST);

/** /drafts, and what writing fields have of it. */
export function draftPages({ plugin, discussions, drafts, store }: PageDeps): void {
  plugin.extend(navigation, { area: 'account', label: 'drafts:title', href: LIST, icon: 'edit' });
  plugin.extend(listTabs, { label: 'drafts:title', href: LIST, visible: (viewer: Viewer) => !isGuest(viewer) }, 30);

  const elements = fill(composerFields, async (forms, viewer) => {
    if (isGuest(viewer)) return [];
    const keys = forms.flatMap(({ key }) => (key === undefined ? [] : [key]));
    const times = keys.length === 0 ? new Map<string, Date>() : await store.times(viewer.id!, keys);
    return forms.map(({ key }) =>
      key === undefined
        ? undefined
        : html`<x-draft data-key="${key}" data-at="${times.get(key)?.toISOString() ?? ''}"></x-draft>`,
    );
  });
  plugin.extend(slotFillings, elements);

  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: 'member',
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) }),
  })(async ({ actor, query: { page = 1 } }) => {
    const total = await store.count(actor.id!);
    const last = Math.max(1, Math.ceil(total / PAGE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await drafts.list(actor, { limit: PAGE, offset: (page - 1) * PAGE });
    const shown = await drafts.shown(items, actor);
    const rows = shown.map(({ record, path }) => ({ ...record, path, kind: record.key.split('-', 1)[0] }));
    const pager = pagerOf(page, last, addressOf);
    const model = { rows, total, tabs: discussions.tabs(LIST, actor), pager };
    return view('@drafts/list', { name: 'drafts', title: phrase('drafts:title'), noindex: true, current: '/' }, model);
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/discard`,
    can: 'member',
    summary: 'Discards a draft, or those that are chosen.',
    body: Type.Object({
      key: Type.Optional(Key),
      keys: Type.Optional(Type.Array(Key, { maxItems: MOST_CHOSEN })),
    }),
  })(async ({ actor, body: { key, keys = [] } }) => {
    const chosen = key === undefined ? keys : [key];
    const count = await drafts.remove(chosen, actor);
    const notice = chosen.length === 0 ? phrase('drafts:none-chosen') : phrase('drafts:discarded', { count });
    return redirect(LIST, { notice });
  });
}
