import { notFound, Type } from '#core';
import type { Access, Viewer } from '#plugins/access';
import { postMenu, type Discussions, type PostHead } from '#plugins/discussions';
import type { Markdown } from '#plugins/markdown';
import { handleReports, OUTCOMES, REASONS, report, STATUSES, type ReportRecord, type Status } from '#plugins/reports';
import { fill, navigation, pagerOf, pages, redirect, slotFillings, view, type Retry, type View, type Web } from '#plugins/web';
import { Note, type RouteServices } from './routes.ts';

export interface PageServices extends RouteServices {
  readonly access: Access;
  readonly discussions: Discussions;
  readonly markdown: Markdown;
  readonly web: Web | undefined;
}
/** Reports on one page, and characters shown of what was reported. */
const PAGE_SIZE = 20;
const SHOWN = 300;
const login = { login: true } as const;

const pathOf = ({ number, discussion }: PostHead): string => `/d/${discussion.number}/${number}`;
const postOf = (discussions: Discussions) => ({ actor, params }: { readonly actor: Viewer; readonly params: Readonly<Record<string, string>> }) =>
  discussions.findPost(params['id'] ?? '', actor);

/** /p/{id}/report, and the way there in the menu of a post. */
export function reportPages({ plugin, access, discussions, reporting, web }: PageServices): void {
  const find = postOf(discussions);
  const formView = (post: PostHead, { body = {}, message, problems = [] }: Partial<Retry> = {}): View => {
    const wrong = Object.fromEntries(problems.map(({ field, message: text }) => [field, text]));
    const model = { number: post.number, discussion: post.discussion, action: `/p/${post.id}/report`, back: pathOf(post), values: body, message, problems, wrong };
    return view('@reports/report', { name: 'report', title: 'Report a post', hidden: true }, model);
  };
  const again = async (retry: Retry): Promise<View> => {
    const post = await find(retry);
    if (!post) throw notFound();
    return formView(post, retry);
  };

  plugin.route(pages, { method: 'get', path: '/p/:id/report', can: report, options: login, find })(({ target }) => formView(target));
  plugin.route(pages, {
    method: 'post', path: '/p/:id/report', can: report, options: { ...login, again }, find,
    body: Type.Object({ reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, target, body: { reason, note } }) => {
    await reporting.report(actor, { postId: target.id, reason, note });
    return redirect(pathOf(target), { notice: 'Thank you. The moderators will look at it.' });
  });

  if (!web) return;
  plugin.extend(slotFillings, fill(postMenu, (posts, viewer) => Promise.all(posts.map(async ({ id, author }) =>
    (access.allows(viewer, report) && author.id !== viewer.id ? web.fragment(viewer, '@reports/menu-item', { href: `/p/${id}/report` }) : undefined)))));
}

/** /moderation/reports. */
export function moderationPages({ plugin, access, discussions, markdown, reading, reporting }: PageServices): void {
  const shown = async (reports: readonly ReportRecord[], viewer: Viewer): Promise<readonly object[]> => {
    const [posts, threads] = await Promise.all([
      discussions.posts(reports.map(({ post_id }) => post_id), viewer), discussions.records(reports.map(({ discussion_id }) => discussion_id), viewer),
    ]);
    return reports.map((one) => {
      const post = posts.find(({ id }) => id === one.post_id);
      const thread = threads.find(({ id }) => id === one.discussion_id);
      const seen = post && thread && { author: post.author, title: thread.title, href: `/d/${thread.number}/${post.number}`, excerpt: markdown.excerpt(post.content, SHOWN) };
      return { ...one, post: seen, action: one.status === 'open' && `/moderation/reports/${one.id}` };
    });
  };
  const listView = async (viewer: Viewer, { status = 'open', page = 1, message }: { status?: Status | undefined; page?: number | undefined; message?: string }): Promise<View> => {
    const total = await reading.count(status, viewer);
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await reading.list({ status, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }, viewer);
    const address = (name: Status, number = 1): string => `/moderation/reports?status=${name}${number > 1 ? `&page=${number}` : ''}`;
    const model = {
      reports: await shown(items, viewer), message, tabs: STATUSES.map((name) => ({ name, href: address(name), current: name === status })),
      pager: pagerOf(page, last, (number) => address(status, number)),
    };
    return view('@reports/list', { name: 'reports', title: 'Reports', hidden: true, current: '/moderation/reports' }, model);
  };

  plugin.route(pages, {
    method: 'get', path: '/moderation/reports', can: handleReports, options: login,
    query: Type.Object({ status: Type.Optional(Type.Enum([...STATUSES])), page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })) }),
  })(({ actor, query }) => listView(actor, query));
  plugin.route(pages, {
    method: 'post', path: '/moderation/reports/:id', can: handleReports, options: { ...login, again: ({ actor, message }: Retry) => listView(actor, { message }) },
    body: Type.Object({ status: Type.Enum([...OUTCOMES]), note: Type.Optional(Note) }), find: ({ actor, params }) => reporting.find(params['id'] ?? '', actor),
  })(async ({ actor, target, body: { status: outcome, note } }) => {
    await reporting.handle(target, { outcome, note }, actor);
    return redirect('/moderation/reports', { notice: outcome === 'resolved' ? 'The report is resolved.' : 'The report is dismissed.' });
  });
  plugin.extend(navigation, {
    area: 'moderation', label: 'reports:title', href: '/moderation/reports', icon: 'flag', visible: (viewer) => access.allows(viewer, handleReports),
  });
}
