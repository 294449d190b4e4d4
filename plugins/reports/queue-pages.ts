import { notFound, Type } from 'parley-forum';
import { accessTag, isGuest, type Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import { listCacheTags } from 'parley-forum/plugins/discussions';
import { handleReports, OUTCOMES, STATUSES, type ReportRecord, type Status } from 'parley-forum/plugins/reports';
import { moderationQueues } from 'parley-forum/ports/moderation';
import {
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  SafeHtml,
  view,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { PagesDeps } from './report-pages.ts';
import { Note } from './routes.ts';
import type { ReportRow } from './rows.ts';

/** Reports per page, and the length of the excerpt of a reported post, in characters. */
const PAGE_SIZE = 20;
const EXCERPT_LENGTH = 300;
const LIST = '/mod/reports';
/** Cache tag of everything that shows the number of open reports; purged when a report is made or handled. */
export const openTag = 'reports-open';
const can = handleReports;

const pathOf = (id: string): string => `${LIST}/${id}`;
const listPath = (name: Status, number = 1): string => `${LIST}?status=${name}${number > 1 ? `&page=${number}` : ''}`;

/** A report as the templates show it, with the other reports of its post. */
interface ReportModel {
  readonly others: readonly ReportRecord[];
}

/** /mod/reports: the queue of reports, and a page for each. */
export function queuePages({ plugin, access, cache, claims, discussions, markdown, reader, writer }: PagesDeps): void {
  const toModels = async (reports: readonly ReportRecord[], viewer: Viewer): Promise<readonly ReportModel[]> => {
    const [posts, threads, related] = await Promise.all([
      discussions.posts(
        reports.map(({ post_id }) => post_id),
        viewer,
      ),
      discussions.records(
        reports.map(({ discussion_id }) => discussion_id),
        viewer,
      ),
      reader.related(reports),
    ]);
    return reports.map((one) => {
      const post = posts.find(({ id }) => id === one.post_id);
      const thread = threads.find(({ id }) => id === one.discussion_id);
      const others = related(one).map((other) => ({ ...other, href: pathOf(other.id) }));
      const first = [one, ...others].map(({ created_at: at }) => at).toSorted()[0]!;
      const seen = post &&
        thread && {
          author: post.author,
          title: thread.title,
          href: `/d/${thread.number}/${post.number}`,
          excerpt: markdown.excerpt(post.content, EXCERPT_LENGTH),
          html: new SafeHtml(post.html),
          history: post.edited_at !== null && post.edited_at > first && `/p/${post.id}/history`,
          edit: `/p/${post.id}/edit`,
          remove: `/p/${post.id}/delete`,
          lock: `/d/${thread.number}/moderate`,
          locked: thread.is_locked,
        };
      const href = pathOf(one.id);
      return {
        ...one,
        others,
        post: seen,
        href,
        claim: `${href}/claim`,
        release: `${href}/release`,
        notes: `${href}/notes`,
        open: one.status === 'open',
      };
    });
  };

  const listView = async (
    viewer: Viewer,
    { status = 'open', page = 1 }: { status?: Status | undefined; page?: number | undefined },
  ): Promise<View> => {
    const grouped = status === 'open';
    const total = await reader.count(status, viewer, grouped);
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await reader.list({ status, grouped, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }, viewer);
    const model = {
      reports: await toModels(items, viewer),
      tabs: STATUSES.map((name) => ({ name, href: listPath(name), current: name === status })),
      pager: pagerOf(page, last, (number) => listPath(status, number)),
    };
    return view(
      '@reports/list',
      { name: 'reports', title: phrase('reports:title'), noindex: true, current: LIST },
      model,
    );
  };
  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can,
    query: Type.Object({
      status: Type.Optional(Type.Enum([...STATUSES])),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    }),
  })(({ actor, query }) => listView(actor, query));

  const find = ({ actor, params }: { readonly actor: Viewer; readonly params: Readonly<Record<string, string>> }) =>
    reader.find(params['id'] ?? '', actor);
  const oneView = async (
    row: ReportRow,
    viewer: Viewer,
    { body = {}, message, problems = [] }: Partial<Retry> = {},
  ): Promise<View> => {
    const records = await reader.records([row]);
    const [report] = await toModels(records, viewer);
    const notes = await claims.notes([row.id, ...report!.others.map(({ id }) => id)]);
    const model = {
      report: { ...report!, typed: body['note'] },
      notes,
      back: LIST,
      values: body,
      message,
      problems,
      context: { ...records[0]!, author_id: row.author_id },
    };
    return view('@reports/one', { name: 'reports', title: phrase('reports:one'), noindex: true, current: LIST }, model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const row = await find(retry);
    if (!row) throw notFound();
    return oneView(row, retry.actor, retry);
  };
  const path = `${LIST}/:id`;
  plugin.route(pages, { method: 'get', path, can, load: find })(({ actor, target }) => oneView(target, actor));

  plugin.route(pages, {
    method: 'post',
    path,
    can,
    load: find,
    options: { rerender },
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    await writer.handle(target, { outcome, note }, actor);
    return redirect(LIST, { notice: phrase(`reports:handled.${outcome}`) });
  });

  plugin.route(pages, { method: 'post', path: `${path}/claim`, can, load: find, options: { rerender } })(
    async ({ actor, target }) => {
      await claims.claim(target, actor);
      return redirect(pathOf(target.id), { notice: phrase('reports:claimed.notice') });
    },
  );

  plugin.route(pages, { method: 'post', path: `${path}/release`, can, load: find })(async ({ actor, target }) => {
    await claims.release(target, actor);
    return redirect(pathOf(target.id), { notice: phrase('reports:released') });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${path}/notes`,
    can,
    load: find,
    options: { rerender },
    body: Type.Object({ content: Type.String({ pattern: '\\S', maxLength: 2_000 }) }),
  })(async ({ actor, target, body: { content } }) => {
    await claims.note(target, content, actor);
    return redirect(pathOf(target.id), { notice: phrase('reports:noted') });
  });

  const open = {
    tags: [openTag, ...listCacheTags],
    load: (viewer: Viewer): Promise<number> =>
      cache.remember(`reports.open:${viewer.id}`, [...open.tags, accountTag(viewer.id!), accessTag], () =>
        reader.count('open', viewer),
      ),
  };
  plugin.extend(navigation, {
    area: 'moderation',
    label: 'reports:title',
    href: LIST,
    icon: 'flag',
    count: open,
    visible: (viewer) => !isGuest(viewer) && access.allows(viewer, handleReports),
  });

  plugin.extend(
    moderationQueues,
    {
      href: LIST,
      heading: 'reports:waiting',
      can,
      waiting: async (viewer, limit) => {
        const [count, { items }] = await Promise.all([
          reader.count('open', viewer, true),
          reader.list({ status: 'open', grouped: true, limit }, viewer),
        ]);
        return {
          count,
          items: items.map(({ id, reason, reporter, created_at: at }) => ({
            href: pathOf(id),
            reason: `reports:reason.${reason}`,
            by: reporter,
            at,
          })),
        };
      },
    },
    -20,
  );
}
