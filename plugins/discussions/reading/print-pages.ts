import { notFound, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { shownPosts, type DiscussionHead, type PostRecord, type PostStub } from 'parley-forum/plugins/discussions';
import { pages, phrase, redirect, SafeHtml, shared, view, type View } from 'parley-forum/plugins/web';
import { cacheTagsOf } from '../discussion-routes.ts';
import { discussionPath, printPath } from '../identifiers.ts';
import { findOrFollow, type PageDeps } from '../page-parts.ts';

/** The most posts on one page; long ones are fewer, as everywhere. */
const MOST_POSTS = 500;
/** Bytes of HTML on one page, after plugins have added to it, such as the cards of links. */
const MAX_PAGE_BYTES = 1024 ** 2;

/** /d/{number}/print: a discussion on as few pages as possible, to be printed or saved. */
export function printPages(deps: PageDeps): void {
  const { plugin, reader, categories } = deps;

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/print',
    can: 'public',
    load: findOrFollow(deps),
    cacheTags: ({ target }) => (typeof target === 'string' ? undefined : cacheTagsOf(target.id)),
    query: Type.Object({ from: Type.Optional(Type.Integer({ minimum: 1, maximum: 20_000_000 })) }),
  })(({ target: head, query: { from = 1 } }) =>
    typeof head === 'string' ? redirect(head, { status: 302 }) : shared((viewer) => printView(head, from, viewer)),
  );

  const printView = async (head: DiscussionHead, from: number, viewer: Viewer): Promise<View> => {
    const range = { from, to: from + MOST_POSTS - 1, descending: false };
    const [found, read] = await Promise.all([
      reader.discussion(head, viewer),
      reader.postsBetween(head, range, viewer),
    ]);
    const category = categories.find(head.categoryId, viewer);
    if (!found || !category) throw notFound();
    const { record, lastNumber: last } = found;
    if (from > last) throw notFound('The discussion ends before this page');
    // A post may have been written between the two reads.
    const written = read.filter(({ number }) => number <= last);
    const posts = fitting(await plugin.filter(shownPosts, written, { discussion: record }));
    const to = from + posts.length - 1;
    const model = {
      title: head.title,
      category: category.name,
      path: discussionPath(head),
      address: record.url,
      part: posts.length < last && { from, to, last },
      rest: to < last && { href: `${printPath(head.number)}?from=${to + 1}`, from: to + 1, last },
      posts: posts.map(printed),
    };
    const title = phrase('discussions:print.title', { title: head.title });
    return view('@discussions/print', { name: 'print', title, noindex: true }, model);
  };
}

/** The first posts, at least one, whose HTML is within the limit. */
function fitting(posts: readonly (PostRecord | PostStub)[]): readonly (PostRecord | PostStub)[] {
  let size = 0;
  const end = posts.findIndex(
    (post, at) => (size += 'html' in post ? Buffer.byteLength(post.html) : 0) > MAX_PAGE_BYTES && at > 0,
  );
  return end < 0 ? posts : posts.slice(0, end);
}

/** A post that was deleted or moved has no text, for nobody: what is printed may be passed on. */
const printed = (post: PostRecord | PostStub): object =>
  'author' in post && !post.is_deleted
    ? { ...post, html: new SafeHtml(post.html) }
    : { number: post.number, moved: !('author' in post) && post.moved_post_id !== undefined };
