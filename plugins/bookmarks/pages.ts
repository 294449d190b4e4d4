import { InvalidInput, notFound, Type, type Clock } from 'parley-forum';
import { isGuest, type Member, type Viewer } from 'parley-forum/plugins/access';
import { Id } from 'parley-forum/plugins/api';
import { listTabs } from 'parley-forum/plugins/discussions';
import { MAX_NOTE, SORTS, type Sort } from 'parley-forum/plugins/bookmarks';
import {
  formErrors,
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  shortcuts,
  view,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { FoundBookmark } from './bookmark-service.ts';
import type { PageDeps } from './post-marks.ts';
import { consumeChange } from './rate-limit.ts';
import { shownBookmarks } from './records.ts';
import { MAX_SEARCH } from './routes.ts';
import { CHOICES, chosenTime, LOCAL_TIME, localTimeOf, momentOf } from './site-time.ts';

const LIST = '/bookmarks';
/** Rows per page. */
const PAGE = 20;

interface Shown {
  readonly q: string;
  readonly sort: Sort;
  readonly page: number;
}
const addressOf = ({ q, sort, page }: Shown): string => {
  const query = new URLSearchParams({
    ...(q !== '' && { q }),
    ...(sort !== 'newest' && { sort }),
    ...(page > 1 && { page: String(page) }),
  });
  return query.size > 0 ? `${LIST}?${query}` : LIST;
};
const Search = Type.Optional(Type.String({ maxLength: MAX_SEARCH }));
const Order = Type.Optional(Type.Enum([...SORTS]));
/** Line breaks are two characters in a submitted form but one in a stored note; the final length is checked later. */
const Note = Type.Optional(Type.String({ maxLength: 2 * MAX_NOTE }));

/** /bookmarks with its bulk actions, and /bookmarks/{id} with the note and reminder of one bookmark. */
export function bookmarkPages(deps: PageDeps & { readonly clock: Clock; readonly reminds: boolean }): void {
  const { plugin, clock, bookmarks, discussions, limits, reminds, web } = deps;
  const change = (viewer: Member) => consumeChange(limits, viewer, plugin.settings['bookmarks.rate_limit']);
  plugin.extend(navigation, { area: 'account', label: 'bookmarks:title', href: LIST, icon: 'bookmark' });
  plugin.extend(listTabs, { label: 'bookmarks:title', href: LIST, visible: (viewer: Viewer) => !isGuest(viewer) }, 40);
  plugin.extend(shortcuts, {
    id: 'bookmarks.list',
    keys: 'g b',
    label: 'bookmarks:keys.list',
    area: 'everywhere',
    href: LIST,
    visible: (viewer) => !isGuest(viewer),
  });

  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: 'member',
    query: Type.Object({ q: Search, sort: Order, page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) }),
  })(async ({ actor, query }) => {
    const shown: Shown = { q: (query.q ?? '').trim(), sort: query.sort ?? 'newest', page: query.page ?? 1 };
    const total = await bookmarks.count(actor, shown.q);
    const last = Math.max(1, Math.ceil(total / PAGE));
    if (shown.page > last) throw notFound('The list ends before this page');
    const request = { search: shown.q, sort: shown.sort, limit: PAGE, offset: (shown.page - 1) * PAGE };
    const { items } = await bookmarks.list(actor, request);
    const rows = await shownBookmarks(deps, items, actor);
    const model = {
      ...shown,
      total,
      longest: MAX_SEARCH,
      tabs: discussions.tabs(LIST, actor),
      rows: rows.map(({ record, category, path }) => ({ ...record, category, path })),
      sorts: SORTS.map((sort) => ({
        label: `bookmarks:sort.${sort}`,
        href: addressOf({ ...shown, sort, page: 1 }),
        current: sort === shown.sort,
      })),
      pager: pagerOf(shown.page, last, (page) => addressOf({ ...shown, page })),
    };
    return view(
      '@bookmarks/list',
      { name: 'bookmarks', title: phrase('bookmarks:title'), noindex: true, current: '/' },
      model,
    );
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/remove`,
    can: 'member',
    body: Type.Object({
      ids: Type.Optional(Type.Array(Id, { maxItems: 100 })),
      q: Search,
      sort: Order,
    }),
  })(async ({ actor, body: { ids = [], q = '', sort = 'newest' } }) => {
    await change(actor);
    const count = await bookmarks.remove(ids, actor);
    const to = addressOf({ q, sort, page: 1 });
    return ids.length === 0
      ? redirect(to, { notice: phrase('bookmarks:none-chosen'), noticeKind: 'info' })
      : redirect(to, { notice: phrase('bookmarks:removed', { count }) });
  });

  const load = ({ actor, params }: Pick<Retry, 'actor' | 'params'>) => bookmarks.find(params['id'] ?? '', actor);
  /**
   * As the form field shows it: to the minute, and without telling apart the two occurrences of the hour repeated in
   * autumn.
   */
  const shownReminder = ({ remindAt }: FoundBookmark['bookmark']): string =>
    remindAt ? localTimeOf(remindAt, web.zone) : '';
  const now = (): Date => new Date(clock.now());
  /** The day of a local time, such as “Fri, Jan 16”. */
  const dayOf = (local: string): string =>
    new Date(`${local.slice(0, 10)}T00:00Z`).toLocaleDateString(web.language, {
      timeZone: 'UTC',
      weekday: 'short',
      month: 'short',
      day: 'numeric',
    });
  const form = async ({ bookmark }: FoundBookmark, viewer: Viewer, retry?: Retry): Promise<View> => {
    const [shown] = await shownBookmarks(deps, [bookmark], viewer);
    if (!shown) throw notFound();
    const model = {
      ...shown.record,
      path: shown.path,
      values: retry?.body ?? { note: bookmark.note, remind_at: shownReminder(bookmark) },
      earliest: localTimeOf(now(), web.zone),
      zone: web.zone,
      choices: CHOICES.map((choice) => ({
        choice,
        label: `bookmarks:remind.${choice}`,
        day: dayOf(chosenTime(choice, now(), web.zone)),
      })),
      longest: MAX_NOTE,
      reminds,
      ...formErrors(retry),
    };
    return view('@bookmarks/edit', { name: 'bookmark', title: phrase('bookmarks:edit.title'), noindex: true }, model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const found = await load(retry);
    if (!found) throw notFound();
    return form(found, retry.actor, retry);
  };

  plugin.route(pages, { method: 'get', path: `${LIST}/:id`, can: 'member', load })(({ actor, target }) =>
    form(target, actor),
  );

  plugin.route(pages, {
    method: 'post',
    path: `${LIST}/:id`,
    can: 'member',
    options: { rerender },
    load,
    body: Type.Object({
      note: Note,
      remind_at: Type.Optional(Type.String({ pattern: LOCAL_TIME, 'x-pattern-problem': 'must be a date and time' })),
      remind: Type.Optional(Type.Enum([...CHOICES], { description: 'A ready choice, in place of `remind_at`' })),
    }),
  })(async ({ actor, target, body: { note, remind_at: typed, remind } }) => {
    await change(actor);
    const local = remind === undefined ? typed : chosenTime(remind, now(), web.zone);
    await bookmarks.change(
      target.bookmark,
      { note, remindAt: local === undefined || local === shownReminder(target.bookmark) ? undefined : reminder(local) },
      actor,
    );
    return redirect(LIST, { notice: phrase('bookmarks:saved') });
  });

  /** Parses the value of the form field; an empty one removes the reminder. */
  const reminder = (local: string): Date | null => {
    if (local === '') return null;
    const moment = momentOf(local, web.zone);
    if (!moment) throw new InvalidInput([{ field: 'remind_at', message: 'must be a date and time' }]);
    return moment;
  };
}
