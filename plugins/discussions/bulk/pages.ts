import { InvalidInput, notFound, sql, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { isId, type Page } from 'parley-forum/plugins/api';
import { moderate, type DiscussionRecord } from 'parley-forum/plugins/discussions';
import { formErrors, navigation, pagerOf, pages, phrase, view, type Retry, type View } from 'parley-forum/plugins/web';
import { discussionPath, numberOf } from '../identifiers.ts';
import { listItems } from '../lists/list-items.ts';
import type { PageDeps } from '../page-parts.ts';
import {
  BULK_ACTIONS,
  BULK_PATH,
  bulkPath,
  doInBulk,
  MAX_BULK,
  tagsIn,
  type BulkAction,
  type BulkResult,
  type Listed,
} from './bulk-actions.ts';
import { BulkBody } from './routes.ts';

/** Filters of the page's list, named as in its URLs and its form. */
const Filter = {
  category: Type.Optional(Type.String({ maxLength: 100 })),
  author: Type.Optional(Type.String({ maxLength: 64 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
};

const NOTHING: Page<DiscussionRecord> = { items: [], hasMore: false, nextCursor: undefined };

/** The submitted values of the form, and the outcome. */
interface Shown {
  readonly retry?: Retry;
  readonly outcome?: object;
  /** Ids or numbers of the selected discussions. */
  readonly chosen?: readonly string[];
  /** Only those are listed. */
  readonly onlyChosen?: boolean;
}

/** The outcome of the form, and how to undo it where a single step does that. */
const outcomeOf = (action: BulkAction, results: readonly BulkResult[], say: (failure: string) => string): object => {
  const [done, failed] = [results.filter(({ error }) => !error), results.filter(({ error }) => error)];
  return {
    count: done.length,
    text: `discussions:bulk.done.${action}`,
    failed: failed.map(({ discussion, error = '' }) => ({
      title: discussion?.title,
      href: discussion && discussionPath(discussion),
      error: say(error),
    })),
    undo: action === 'delete' && done.map(({ id }) => id),
  };
};

/** /mod/discussions: a list to select discussions from, and a form to act on them. */
export function bulkPages(deps: PageDeps, { accounts }: { readonly accounts: Pick<Accounts, 'idsByUsername'> }): void {
  const { plugin, categories, reader, rights, web } = deps;
  plugin.extend(navigation, {
    area: 'moderation',
    label: 'discussions:bulk.title',
    href: BULK_PATH,
    icon: 'discussions',
    visible: (viewer) => rights.canModerate(viewer),
  });

  /** The rows of the page; none if the category or the member does not exist. */
  const rowsOf = async (
    viewer: Viewer,
    { category: slug, author, page = 1 }: Listed,
  ): Promise<Page<DiscussionRecord>> => {
    await categories.refresh();
    const category = slug ? categories.find(slug, viewer) : undefined;
    const name = author?.toLowerCase();
    const authorId = name ? (await accounts.idsByUsername([name])).get(name) : undefined;
    const unknown = (slug && !category) || (name && authorId === undefined);
    if (unknown) return NOTHING;
    const request = { category, authorId, sort: 'latest', limit: MAX_BULK, offset: (page - 1) * MAX_BULK } as const;
    const found = await reader.list(request, viewer);
    if (page > 1 && found.items.length === 0) throw notFound('The list ends before this page');
    return found;
  };

  /** The selected discussions that are not deleted. */
  const rowsChosen = async (viewer: Viewer, chosen: readonly string[]): Promise<readonly DiscussionRecord[]> => {
    if (chosen.length === 0) return [];
    const numbers = chosen.map(numberOf).filter((number) => number !== undefined);
    const within = sql<{ readonly discussion_id: string }>`select id as discussion_id from discussion
      where number = any(${numbers}::int[]) or id = any(${chosen.filter(isId)}::uuid[])`;
    return (await reader.list({ within, sort: 'latest', limit: MAX_BULK }, viewer)).items;
  };

  const show = async (
    viewer: Viewer,
    { category = '', author = '', page = 1 }: Listed,
    { retry, outcome, chosen: wanted = [], onlyChosen = false }: Shown,
  ): Promise<View> => {
    const listed = { category, author, page };
    const chosen = await rowsChosen(viewer, wanted);
    const found = onlyChosen ? NOTHING : await rowsOf(viewer, listed);
    // What was selected elsewhere may not be in this list.
    const others = found.items.filter(({ id }) => !chosen.some((one) => one.id === id));
    const rows = others.length + chosen.length > found.items.length ? [...chosen, ...others] : found.items;
    const tags = tagsIn(deps) !== undefined;
    const model = {
      ...listed,
      discussions: listItems(rows, categories.all()),
      categories: categories.visible(viewer).map(({ slug, name }) => ({ value: slug, label: name })),
      values: retry?.body ?? {},
      actions: BULK_ACTIONS.filter((one) => one !== 'restore' && (tags || !one.endsWith('tag'))).map((value) => ({
        value,
        label: web?.say(phrase(`discussions:bulk.${value}`)) ?? value,
      })),
      tags,
      chosen: chosen.map(({ id }) => id),
      back: onlyChosen && bulkPath(listed),
      outcome,
      pager: pagerOf(page, found.hasMore ? page + 1 : page, (number) => bulkPath({ ...listed, page: number })),
      ...formErrors(retry),
    };
    return view(
      '@discussions/bulk',
      { name: 'moderation', title: phrase('discussions:bulk.title'), noindex: true, current: BULK_PATH },
      model,
    );
  };

  plugin.route(pages, {
    method: 'get',
    path: BULK_PATH,
    can: moderate,
    query: Type.Object({ ...Filter, chosen: Type.Optional(Type.String({ maxLength: 4_000 })) }),
  })(({ actor, query: { chosen, ...listed } }) =>
    show(actor, listed, chosen ? { chosen: chosen.split(',').slice(0, MAX_BULK), onlyChosen: true } : {}),
  );
  plugin.route(pages, {
    method: 'post',
    path: BULK_PATH,
    can: moderate,
    options: {
      rerender: (retry) => {
        const { category, author, page, ids } = retry.body;
        const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
        const listed = { category: text(category), author: text(author), page: Number(page) || 1 };
        return show(retry.actor, listed, { retry, chosen: Array.isArray(ids) ? ids.map(String) : [] });
      },
    },
    body: Type.Object({
      ids: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_BULK })),
      ...Filter,
      ...BulkBody,
    }),
  })(async ({ actor, body: { ids = [], action, category_id, tag, into, reason, ...listed } }) => {
    if (ids.length === 0) throw new InvalidInput([], 'Choose at least one discussion');
    const results = await doInBulk(
      deps,
      { ids, action, categoryId: category_id || undefined, tag, into },
      { viewer: actor, reason },
    );
    // Failed discussions stay selected, so that something else can be tried.
    const chosen = results.filter(({ error }) => error).map(({ id }) => id);
    const outcome = outcomeOf(action, results, (message) => web?.failure(message) ?? message);
    return show(actor, { ...listed, page: 1 }, { outcome, chosen });
  });
}
