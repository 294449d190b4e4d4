import { notFound, Type } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import {
  discussionStructuredData,
  POSTS_PER_PAGE,
  shownPosts,
  type DiscussionHead,
  type DiscussionRecord,
  type PostRecord,
  type PostStub,
  type ShownDiscussion,
  type StructuredData,
} from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { pagerOf, pages, phrase, redirect, shared, view, type PagePicture, type View } from 'parley-forum/plugins/web';
import { discussionPath, numberOf, placePath, postPath, printPath } from '../identifiers.ts';
import { cacheTagsOf } from '../discussion-routes.ts';
import { MAX_TEXT_BYTES } from '../rows.ts';
import { dayOf, startOfDay } from './days.ts';
import { movedIds, movedPosts } from './moved-posts.ts';
import type { FoundDiscussion } from './reader.ts';
import { composer, findOrFollow, pinValues, postModel, replyKey, siteZone, type PageDeps } from '../page-parts.ts';

const pageOf = (number: number): number => Math.ceil(number / POSTS_PER_PAGE);
const pathOf = (head: DiscussionHead, page: number): string => discussionPath(head) + (page > 1 ? `?page=${page}` : '');
/** Path of the rest of a page, starting with this number, if its posts are too long to be shown at once. */
const pathFrom = (head: DiscussionHead, from: number): string =>
  `${discussionPath(head)}?page=${pageOf(from)}&from=${from}`;
const firstOf = (page: number): number => (page - 1) * POSTS_PER_PAGE + 1;

/** /d/…: reading a discussion. `zone` is the time zone in which the reader counts days. */
export function discussionPages(deps: PageDeps, zone: () => string): void {
  const { plugin, reader, records, categories, markdown } = deps;
  /** The discussion, or the path to which that of a merged one redirects. */
  const load = findOrFollow(deps);
  const cacheTags = ({ target }: { readonly target: DiscussionHead | string }) =>
    typeof target === 'string' ? undefined : cacheTagsOf(target.id);

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address',
    can: 'public',
    load,
    cacheTags,
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      from: Type.Optional(Type.Integer({ minimum: 1, maximum: 20_000_000 })),
      date: Type.Optional(
        Type.String({ format: 'date', description: 'Redirects to the first post of that day or later.' }),
      ),
    }),
  })(async ({ actor, params, query: { page = 1, from = firstOf(page), date }, target: head, req }) => {
    if (typeof head === 'string') return redirect(head, { status: 302 });
    if (date !== undefined) {
      const number = await reader.numberSince(head, startOfDay(date, zone()));
      return redirect(placePath(head.number, number), { status: 302 });
    }
    if (params['address'] !== `${head.number}-${head.slug}`) {
      const search = req.originalUrl.indexOf('?');
      return redirect(discussionPath(head) + (search < 0 ? '' : req.originalUrl.slice(search)), { status: 301 });
    }
    const own = actor.id === head.authorId;
    const build = (viewer: Viewer) => discussionView(head, { page, from }, viewer, own ? actor : viewer);
    return shared(build, { variant: own ? 'author' : '' });
  });

  /** `owner`: the viewer, or the discussion's author if that is the viewer. */
  const discussionView = async (
    head: DiscussionHead,
    { page, from }: { readonly page: number; readonly from: number },
    actor: Viewer,
    owner: Viewer,
  ): Promise<View> => {
    const category = categories.find(head.categoryId, actor);
    if (!category) throw notFound();
    if (pageOf(from) !== page) throw notFound('That post is on another page');
    const range = { from, to: page * POSTS_PER_PAGE, descending: false };
    const [found, read, [shown]] = await Promise.all([
      reader.discussion(head, actor),
      reader.postsBetween(head, range, actor),
      records.categories([category], actor),
    ]);
    if (!found) throw notFound();
    const { record, lastNumber } = found;
    const last = pageOf(lastNumber);
    if (page > last || from > lastNumber) throw notFound('The discussion ends before this page');
    // A post may have been written between the two reads.
    const posts = read.filter(({ number }) => number <= lastNumber);
    const moved = movedPosts(posts, await reader.newPlaces(movedIds(posts), actor));
    const next = from + posts.length;
    const to = Math.min(range.to, lastNumber);
    const rest = next <= to && { from: next, to, href: pathFrom(head, next) };
    const discussion: ShownDiscussion = { ...record, shown: { from, to: next - 1 } };
    const model = {
      discussion,
      last: lastNumber,
      category: shown,
      posts: (await plugin.filter(shownPosts, posts, { discussion: record })).map((post) =>
        postModel(post, head, deps, { viewer: actor, moved: moved.get(post.number) }),
      ),
      rest,
      earlier: from > firstOf(page) ? pathOf(head, page) : page > 1 && pathOf(head, page - 1),
      later: rest ? rest.href : page < last && pathOf(head, page + 1),
      position: last > 1 && {
        ...discussion.shown,
        last: lastNumber,
        size: POSTS_PER_PAGE,
        path: discussionPath(head),
        lastPath: placePath(head.number, lastNumber),
        firstDay: record.created_at.slice(0, 10),
        lastDay: record.last_post_at.slice(0, 10),
        print: new URL(printPath(head.number), record.url).href,
      },
      pager: pagerOf(page, last, (number) => pathOf(head, number)),
      tools: toolsModel(head, found, deps, owner),
      ...replyModel(head, deps, actor),
    };
    const description = markdown.excerpt(record.content, 160);
    return view(
      '@discussions/discussion',
      {
        name: 'discussion',
        title: head.title,
        description,
        canonical: pathOf(head, page),
        current: `/c/${encodeURIComponent(category.slug)}`,
        picture: firstImage(record.html),
        // Only for guests, because search engines read as guests.
        ...(isGuest(actor) && {
          structuredData: await plugin.filter(discussionStructuredData, structuredData(record, posts, markdown), {
            discussion: record,
          }),
        }),
      },
      model,
    );
  };

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/:post',
    can: 'public',
    load,
    query: Type.Object({
      here: Type.Optional(
        Type.String({
          maxLength: 10,
          description: 'Redirects to that position in the discussion, even if its post has moved.',
        }),
      ),
    }),
  })(async ({ actor, params, query: { here }, target: head }) => {
    if (typeof head === 'string') return redirect(head, { status: 302 });
    const wanted = numberOf(params['post'] ?? '');
    const found = wanted === undefined ? undefined : await reader.discussion(head, actor);
    if (!found || wanted === undefined) throw notFound();
    const number = Math.min(wanted, found.lastNumber);
    const notice =
      number === wanted
        ? {}
        : { notice: phrase('discussions:last-instead', { number: wanted }), noticeKind: 'info' as const };
    const page = pageOf(number);
    const { size, movedPostId } = await reader.upTo(head, { from: firstOf(page), to: number });
    const follows = movedPostId !== null && here === undefined && number === wanted;
    const now = follows ? await reader.placeOf(movedPostId, actor) : undefined;
    if (now !== undefined) return redirect(now, { status: 302, ...notice });
    const fits = size <= MAX_TEXT_BYTES;
    return redirect(`${fits ? pathOf(head, page) : pathFrom(head, number)}#post-${number}`, {
      status: 302,
      ...notice,
    });
  });
}

/** The footer of the page: a field to reply, or why there is none. */
function replyModel(head: DiscussionHead, { rights }: PageDeps, viewer: Viewer): object {
  if (rights.canReply(head, viewer)) {
    return {
      reply: composer({ values: {} }, { key: replyKey(head), writes: 'post', discussion: head, rows: 6 }),
      replyAction: `/d/${head.number}/reply`,
    };
  }
  return { guest: isGuest(viewer), closed: head.locked ? 'locked' : 'category' };
}

/** The actions that the viewer may take on the discussion as a whole, as links and forms. */
function toolsModel(
  head: DiscussionHead,
  { record, firstPostId }: FoundDiscussion,
  deps: PageDeps,
  viewer: Viewer,
): object | undefined {
  const { rights, clock } = deps;
  const { moderate } = rights.inCategory(head.categoryId, viewer);
  if (!moderate && !rights.canEdit(head, head.authorId, viewer)) return undefined;
  const base = `/d/${head.number}`;
  const flip = (action: string) => ({ action: `${base}/moderate`, fields: [{ name: 'action', value: action }] });
  return {
    edit: `${base}/edit`,
    history: `/p/${firstPostId}/history`,
    remove: head.deleted ? undefined : `${base}/delete`,
    ...(moderate && {
      move: head.deleted ? undefined : `${base}/move`,
      pin: {
        ...flip('pin'),
        ...pinValues(record, siteZone(deps)),
        today: dayOf(new Date(clock.now()), siteZone(deps)),
      },
      unpin: head.pinned && flip('unpin'),
      lock: !head.locked && flip('lock'),
      unlock: head.locked && flip('unlock'),
      restore: head.deleted && flip('restore'),
    }),
  };
}

/** Characters of a post in the structured data. */
const EXCERPT = 500;

/** Structured data of the discussion with the replies on the current page. */
function structuredData(
  record: DiscussionRecord,
  posts: readonly (PostRecord | PostStub)[],
  markdown: Markdown,
): StructuredData {
  const person = ({ username, display_name: name }: PostRecord['author']) => ({
    '@type': 'Person',
    name: name ?? username,
    url: new URL(`/u/${encodeURIComponent(username)}`, record.url).href,
  });
  const replies = posts.filter((post): post is PostRecord => 'author' in post && !post.is_deleted && !post.is_first);
  const image = firstImage(record.html)?.url;
  return {
    '@context': 'https://schema.org',
    '@type': 'DiscussionForumPosting',
    headline: record.title,
    text: markdown.excerpt(record.content, EXCERPT),
    url: record.url,
    datePublished: record.created_at,
    dateModified: record.updated_at,
    author: person(record.author),
    commentCount: record.reply_count,
    ...(image !== undefined && { image: new URL(image, record.url).href }),
    interactionStatistic: {
      '@type': 'InteractionCounter',
      interactionType: 'https://schema.org/CommentAction',
      userInteractionCount: record.reply_count,
    },
    comment: replies.map((post) => ({
      '@type': 'Comment',
      text: markdown.excerpt(post.content, EXCERPT),
      url: new URL(postPath(record.number, post.number), record.url).href,
      position: post.number,
      datePublished: post.created_at,
      ...(post.edited_at !== null && { dateModified: post.edited_at }),
      author: person(post.author),
    })),
  };
}

/** The first picture in the HTML of a post. */
function firstImage(html: string): PagePicture | undefined {
  const [tag] = /<img [^>]*>/.exec(html) ?? [];
  const attribute = (name: string): string | undefined =>
    new RegExp(`\\s${name}="([^"]*)"`)
      .exec(tag ?? '')?.[1]
      ?.replaceAll('&amp;', '&')
      .replaceAll('&quot;', '"');
  const url = attribute('src');
  if (url === undefined || !/^(?:\/uploads\/|https:)/.test(url)) return undefined;
  const [width, height] = [attribute('width'), attribute('height')].map((size) =>
    size === undefined ? undefined : Number(size),
  );
  return { url, width, height, alt: attribute('alt') ?? '' };
}
