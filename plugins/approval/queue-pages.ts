import { notFound, Type, type Cache } from 'parley-forum';
import { accessTag, isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import { reviewPosts } from 'parley-forum/plugins/approval';
import { listCacheTags, type Categories, type Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { moderationQueues } from 'parley-forum/ports/moderation';
import {
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  view,
  type PageResult,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { queueTag } from './held-posts.ts';
import { ReviewReason, type RoutesDeps } from './routes.ts';
import type { HeldRow } from './rows.ts';
import { placesOf, shownText } from './shown-posts.ts';

export interface PagesDeps extends RoutesDeps {
  readonly cache: Cache;
  readonly access: Access;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly markdown: Pick<Markdown, 'excerpt'>;
}
export const QUEUE = '/mod/approval';
/** Posts per page. */
const PAGE_SIZE = 10;
const DECISIONS = ['approve', 'reject'] as const;
const can = reviewPosts;

/** /mod/approval: the held posts, and a page for each. */
export function queuePages(deps: PagesDeps): void {
  const { plugin, cache, access, posts, reviewer } = deps;

  const toModels = async (
    rows: readonly HeldRow[],
    viewer: Viewer,
    { whole = false, retry }: { readonly whole?: boolean; readonly retry?: Retry | undefined } = {},
  ): Promise<readonly object[]> => {
    const [records, placeOf] = await Promise.all([posts.queueRecords(rows, viewer), placesOf(rows, viewer, deps)]);
    return records.map((record, at) => ({
      ...record,
      ...shownText(record, deps.markdown, whole),
      place: placeOf(rows[at]!),
      href: `${QUEUE}/${record.id}`,
      said: retry?.params['id'] === record.id ? retry.body['reason'] : undefined,
    }));
  };

  const listView = async (viewer: Viewer, page = 1, retry?: Retry): Promise<View> => {
    const total = await posts.count(viewer);
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
    if (page > last) throw notFound('The list ends before this page');
    const { items } = await posts.queue({ limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }, viewer);
    const model = {
      posts: await toModels(items, viewer, { retry }),
      pager: pagerOf(page, last, QUEUE),
      message: retry?.message,
      problems: retry?.problems ?? [],
    };
    return view(
      '@approval/queue',
      { name: 'approval', title: phrase('approval:title'), noindex: true, current: QUEUE },
      model,
    );
  };
  plugin.route(pages, {
    method: 'get',
    path: QUEUE,
    can,
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })) }),
  })(({ actor, query }) => listView(actor, query.page));

  const path = `${QUEUE}/:id`;
  plugin.route(pages, {
    method: 'get',
    path,
    can,
    load: async ({ actor, params }) => {
      const row = await posts.find(params['id'] ?? '', actor);
      return row?.status === 'held' ? row : undefined;
    },
  })(async ({ actor, target }) => {
    const [post] = await toModels([target], actor, { whole: true });
    return view(
      '@approval/queued',
      { name: 'approval', title: phrase('approval:one'), noindex: true, current: QUEUE },
      { post, back: QUEUE },
    );
  });

  plugin.route(pages, {
    method: 'post',
    path,
    can,
    load: ({ actor, params }) => posts.find(params['id'] ?? '', actor),
    body: Type.Object({ decision: Type.Enum([...DECISIONS]), reason: Type.Optional(ReviewReason) }),
    options: {
      // A moderator whose session has ended sees nothing of the queue.
      rerender: (retry) => {
        if (!access.allows(retry.actor, reviewPosts)) throw notFound();
        return listView(retry.actor, 1, retry);
      },
    },
  })(async ({ actor, target, body: { decision, reason = '' } }): Promise<PageResult> => {
    if (decision === 'approve') await reviewer.approve(target.id, actor);
    else await reviewer.reject(target.id, reason, actor);
    return redirect(QUEUE, { notice: phrase(`approval:done.${decision}`) });
  });

  const waiting = {
    tags: [queueTag, ...listCacheTags],
    load: (viewer: Viewer): Promise<number> =>
      cache.remember(`approval.waiting:${viewer.id}`, [...waiting.tags, accountTag(viewer.id!), accessTag], () =>
        posts.count(viewer),
      ),
  };
  plugin.extend(navigation, {
    area: 'moderation',
    label: 'approval:title',
    href: QUEUE,
    icon: 'eye',
    count: waiting,
    visible: (viewer) => !isGuest(viewer) && access.allows(viewer, reviewPosts),
  });

  plugin.extend(moderationQueues, {
    href: QUEUE,
    heading: 'approval:waiting',
    can,
    waiting: async (viewer, limit) => {
      const [count, oldest] = await Promise.all([posts.count(viewer), posts.oldest(limit, viewer)]);
      return {
        count,
        items: oldest.map(({ id, reason, author, created_at: at }) => ({
          href: `${QUEUE}/${id}`,
          reason: `approval:reason.${reason}`,
          by: author,
          at,
        })),
      };
    },
  });
}
