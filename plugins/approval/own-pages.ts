import { notFound, Type } from 'parley-forum';
import { isGuest, type Member } from 'parley-forum/plugins/access';
import { navigation, pagerOf, pages, phrase, redirect, view } from 'parley-forum/plugins/web';
import { OWN } from './holder.ts';
import type { PagesDeps } from './queue-pages.ts';
import type { Rules } from './rules.ts';
import type { HeldRow } from './rows.ts';
import { placesOf, shownText } from './shown-posts.ts';

/** Posts per page. */
const PAGE_SIZE = 10;

/** /settings/held-posts: the member's held and rejected posts, and a page for each. */
export function ownPages(deps: PagesDeps & { readonly rules: Rules }): void {
  const { plugin, posts, rules, markdown } = deps;
  plugin.extend(navigation, {
    area: 'settings',
    label: 'approval:own.tab',
    href: OWN,
    visible: (viewer) => !isGuest(viewer) && rules.concerns(viewer),
  });

  const toModel = (row: HeldRow, whole: boolean): object => {
    const record = posts.ownRecord(row);
    return {
      ...record,
      ...shownText(record, markdown, whole),
      href: `${OWN}/${row.id}`,
      withdraw: `${OWN}/${row.id}/withdraw`,
      held: row.status === 'held',
    };
  };

  plugin.route(pages, {
    method: 'get',
    path: OWN,
    can: 'member',
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) }),
  })(async ({ actor, query: { page = 1 } }) => {
    const total = await posts.countOwn(actor.id);
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await posts.own(actor.id, { limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE });
    const placeOf = await placesOf(items, actor, deps);
    const rows = items.map((row) => ({ ...toModel(row, false), place: placeOf(row) }));
    return view(
      '@approval/own',
      { name: 'settings', title: phrase('approval:own.title'), noindex: true },
      { posts: rows, pager: pagerOf(page, last, OWN) },
    );
  });

  const load = ({ actor, params }: { actor: Member; params: Readonly<Record<string, string>> }) =>
    posts.findOwn(params['id'] ?? '', actor.id);
  plugin.route(pages, { method: 'get', path: `${OWN}/:id`, can: 'member', load })(async ({ actor, target }) => {
    const placeOf = await placesOf([target], actor, deps);
    return view(
      '@approval/own-one',
      { name: 'settings', title: phrase('approval:own.one'), noindex: true, current: OWN },
      { post: { ...toModel(target, true), place: placeOf(target) }, back: OWN },
    );
  });

  plugin.route(pages, { method: 'post', path: `${OWN}/:id/withdraw`, can: 'member', load })(
    async ({ actor, target }) => {
      if (!(await posts.withdraw(target.id, actor.id))) throw notFound('There is no such held post');
      return redirect(OWN, { notice: phrase('approval:withdrawn') });
    },
  );
}
