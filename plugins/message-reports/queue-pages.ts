import { notFound, Type, type Cache } from 'parley-forum';
import { accessTag, isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { MessageReportRecord } from 'parley-forum/plugins/message-reports';
import { handleReports, OUTCOMES, STATUSES, type Status } from 'parley-forum/plugins/reports';
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
import { Note, type RoutesDeps } from './routes.ts';
import type { FullReportRow } from './rows.ts';

export interface QueuePagesDeps extends Pick<RoutesDeps, 'plugin' | 'reader' | 'writer'> {
  readonly cache: Cache;
  readonly access: Access;
  readonly markdown: Pick<Markdown, 'excerpt'>;
}

/** Reports per page, and the length of the excerpt shown in lists for a long message, in characters. */
const [PAGE_SIZE, EXCERPT] = [20, 600];
export const QUEUE = '/mod/message-reports';
/** Cache tag of everything that shows the number of open reports; purged when a report is made or handled. */
export const openTag = 'message-reports-open';
const can = handleReports;

const pathOf = (id: string): string => `${QUEUE}/${id}`;
const listPath = (name: Status, number = 1): string => `${QUEUE}?status=${name}${number > 1 ? `&page=${number}` : ''}`;

/** /mod/message-reports: the queue of reports, and a page for each. */
export function queuePages({ plugin, cache, access, markdown, reader, writer }: QueuePagesDeps): void {
  /** In lists, a long message has no HTML, so its excerpt is shown. */
  const shownText = ({ content, html }: MessageReportRecord['message']) =>
    html === '' ? { excerpt: markdown.excerpt(content, EXCERPT) } : { html: new SafeHtml(html) };

  const toModels = async (reports: readonly MessageReportRecord[]): Promise<readonly object[]> => {
    const related = await reader.related(reports);
    return reports.map((one) => ({
      ...one,
      message: { ...one.message, html: undefined, ...shownText(one.message) },
      others: related(one).map((other) => ({ ...other, href: pathOf(other.id) })),
      href: pathOf(one.id),
      open: one.status === 'open',
    }));
  };

  plugin.route(pages, {
    method: 'get',
    path: QUEUE,
    can,
    query: Type.Object({
      status: Type.Optional(Type.Enum([...STATUSES])),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    }),
  })(async ({ actor, query: { status = 'open', page = 1 } }) => {
    const last = Math.max(1, Math.ceil((await reader.queueLength(status, actor)) / PAGE_SIZE));
    if (page > last) throw notFound('The list ends before this page');
    const reports = await reader.queue({ status, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }, actor);
    const model = {
      reports: await toModels(reports),
      tabs: STATUSES.map((name) => ({ name, href: listPath(name), current: name === status })),
      pager: pagerOf(page, last, (number) => listPath(status, number)),
    };
    return view(
      '@message-reports/list',
      { name: 'reports', title: phrase('message-reports:title'), noindex: true, current: QUEUE },
      model,
    );
  });

  const find = ({ actor, params }: { readonly actor: Viewer; readonly params: Readonly<Record<string, string>> }) =>
    reader.find(params['id'] ?? '', actor);
  const oneView = async (row: FullReportRow, retry?: Retry): Promise<View> => {
    const [report] = await toModels(await reader.records([row]));
    const model = {
      report: { ...report, typed: retry?.body['note'] },
      back: QUEUE,
      message: retry?.message,
      problems: retry?.problems ?? [],
    };
    return view(
      '@message-reports/one',
      { name: 'reports', title: phrase('message-reports:one'), noindex: true, current: QUEUE },
      model,
    );
  };
  const path = `${QUEUE}/:id`;
  plugin.route(pages, { method: 'get', path, can, load: find })(({ target }) => oneView(target));

  plugin.route(pages, {
    method: 'post',
    path,
    can,
    load: find,
    options: {
      // A moderator whose session has ended, or who is no longer a moderator, sees nothing of the message.
      rerender: async (retry) => {
        const row = access.allows(retry.actor, handleReports) ? await find(retry) : undefined;
        if (!row) throw notFound();
        return oneView(row, retry);
      },
    },
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    await writer.handle(target, { outcome, note }, actor);
    return redirect(QUEUE, { notice: phrase(`message-reports:handled.${outcome}`) });
  });

  const open = {
    tags: [openTag],
    load: (viewer: Viewer): Promise<number> =>
      cache.remember(`message-reports.open:${viewer.id}`, [openTag, accountTag(viewer.id!), accessTag], () =>
        reader.open(viewer),
      ),
  };
  plugin.extend(navigation, {
    area: 'moderation',
    label: 'message-reports:title',
    href: QUEUE,
    icon: 'mail',
    count: open,
    visible: (viewer) => !isGuest(viewer) && access.allows(viewer, handleReports),
  });

  plugin.extend(
    moderationQueues,
    {
      href: QUEUE,
      heading: 'message-reports:waiting',
      can,
      waiting: async (viewer, limit) => {
        const [count, items] = await Promise.all([reader.queueLength('open', viewer), reader.newest(limit, viewer)]);
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
    -10,
  );
}
