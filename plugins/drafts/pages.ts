import { notFound, Type, type Extension } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import {
  composerEnd,
  composerStart,
  listTabs,
  type ComposerSlot,
  type Discussions,
} from 'parley-forum/plugins/discussions';
import {
  fill,
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Web,
} from 'parley-forum/plugins/web';
import type { DraftForms } from 'parley-forum/ports/drafts';
import { kindOf } from './draft-forms.ts';
import type { DraftStore } from './draft-store.ts';
import type { RouteDeps } from './routes.ts';

export interface PageDeps extends RouteDeps {
  readonly discussions: Discussions;
  readonly others: () => readonly Extension<DraftForms>[];
  readonly store: DraftStore;
  readonly web: Web;
}
const LIST = '/drafts';
/** Rows per page. */
const PAGE = 20;
/** Maximum number of drafts that can be discarded at once. */
const MOST_CHOSEN = 100;
const Key = Type.String({ maxLength: 100 });
/** Maximum number of posts with an unfinished edit that the reply form of their discussion names. */
const MOST_NAMED = 3;
/** Labels by the kind of draft, which its key starts with. */
const LABELS = { new: 'drafts:kind.new', reply: 'drafts:kind.reply', edit: 'drafts:kind.edit' };

/** The discussion that the form replies to: unfinished edits of its posts are offered beside the form. */
const repliedIn = ({ key, discussion }: ComposerSlot): string | undefined =>
  discussion && key === `reply-${discussion.id}` ? discussion.id : undefined;

/** /drafts, and the additions to forms for writing. */
export function draftPages({ plugin, discussions, others, drafts, store, web }: PageDeps): void {
  plugin.extend(navigation, { area: 'account', label: 'drafts:title', href: LIST, icon: 'edit' });
  plugin.extend(listTabs, { label: 'drafts:title', href: LIST, visible: (viewer: Viewer) => !isGuest(viewer) }, 30);

  const elements = fill(composerEnd, async (forms, viewer) => {
    const keys = forms.flatMap(({ key }) => key ?? []);
    if (isGuest(viewer) || keys.length === 0) return [];
    const discussionIds = forms.flatMap((form) => repliedIn(form) ?? []);
    const posts = await discussions.readablePosts(viewer);
    const kept = await store.kept(viewer.id, keys, { discussionIds, posts });
    return Promise.all(
      forms.map(async (form) => {
        const { key } = form;
        if (key === undefined) return undefined;
        const at = kept.find((one) => one.key === key)?.updatedAt;
        const changed = kept.filter(({ discussionId }) => discussionId === repliedIn(form)).slice(0, MOST_NAMED);
        return web.fragment(viewer, '@drafts/kept', { key, at, changed });
      }),
    );
  });
  plugin.extend(slotFillings, elements);

  // A new discussion begins empty, beside the others that its author has not finished.
  const unfinished = fill(composerStart, async (forms, viewer) => {
    if (isGuest(viewer)) return [];
    const keys = await store.newKeys(viewer.id);
    return Promise.all(
      forms.map(({ key }) => {
        const count = keys.filter((one) => one !== key).length;
        return web.fragment(viewer, '@drafts/unfinished', { count, href: LIST, keys: keys.join(' '), key });
      }),
    );
  });
  plugin.extend(slotFillings, unfinished);

  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: 'member',
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) }),
  })(async ({ actor, query: { page = 1 } }) => {
    const total = await store.count(actor.id);
    const last = Math.max(1, Math.ceil(total / PAGE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await drafts.list(actor, { limit: PAGE, offset: (page - 1) * PAGE });
    const shown = await drafts.shown(items, actor);
    const labels = new Map([
      ...Object.entries(LABELS),
      ...others().map(({ value: { kind, label } }) => [kind, label] as const),
    ]);
    const rows = shown.map(({ record, path }) => ({ ...record, path, label: labels.get(kindOf(record.key)) }));
    const pager = pagerOf(page, last, LIST);
    const model = { rows, total, tabs: discussions.tabs(LIST, actor), pager };
    return view('@drafts/list', { name: 'drafts', title: phrase('drafts:title'), noindex: true, current: '/' }, model);
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/discard`,
    can: 'member',
    summary: 'Discards a draft, or the selected ones.',
    query: Type.Object({
      form: Type.Optional(Type.Boolean({ description: 'Whether to return to the form of the draft with this `key`.' })),
    }),
    body: Type.Object({
      key: Type.Optional(Key),
      keys: Type.Optional(Type.Array(Key, { maxItems: MOST_CHOSEN })),
    }),
    options: { longText: true },
  })(async ({ actor, query, body: { key, keys = [] } }) => {
    const form = query.form && key !== undefined ? await drafts.formOf(key, actor) : undefined;
    const chosen = key === undefined ? keys : [key];
    const count = await drafts.remove(chosen, actor);
    if (chosen.length === 0) return redirect(LIST, { notice: phrase('drafts:none-chosen'), noticeKind: 'info' });
    const notice = phrase('drafts:discarded', { count });
    return redirect(form ? form.path + (form.hash ?? '') : LIST, { notice });
  });
}
