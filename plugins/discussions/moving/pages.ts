import { InvalidInput, notFound, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { moderate, type DiscussionHead } from 'parley-forum/plugins/discussions';
import { pagerOf, pages, phrase, redirect, view, type Retry, type View } from 'parley-forum/plugins/web';
import { discussionPath, numberOf, postPath } from '../identifiers.ts';
import { draftOf, findByPath, problemsByField, queryOf, textOf, type FormDraft, type PageDeps } from '../page-parts.ts';
import { ReasonField } from '../schemas.ts';
import { MAX_CHOSEN, namedDiscussion } from './destination.ts';
import type { Moved } from './post-mover.ts';

/** Posts to choose from on one page. */
const PAGE = 50;
/** Characters of each. */
const EXCERPT = 160;
const Text = Type.Optional(Type.String({ maxLength: 2_000 }));

const pageOf = (number: number): number => Math.ceil(number / PAGE);

/** /d/…/move: which posts, and where to; or all of them, which merges the discussion. */
export function movePages(deps: PageDeps): void {
  const { plugin, categories, reader, mover, markdown, records } = deps;
  const load = findByPath(deps);
  const authorize = ({ target }: { readonly target: DiscussionHead }): boolean => !target.deleted;

  const moveView = async (head: DiscussionHead, viewer: Viewer, page: number, draft: FormDraft): Promise<View> => {
    const found = await reader.discussion(head, viewer);
    if (!found) throw notFound();
    const last = pageOf(found.lastNumber);
    if (page > last) throw notFound('The discussion ends before this page');
    const { values } = draft;
    const posts = await records.withAuthors(
      await reader.movable(head, { from: (page - 1) * PAGE + 1, to: page * PAGE }),
    );
    const open = categories.visible(viewer).filter((category) => categories.rights(category, viewer).create);
    const path = `/d/${head.number}/move`;
    const model = {
      message: draft.message,
      problems: draft.problems,
      wrong: problemsByField(draft),
      discussion: head,
      back: discussionPath(head),
      path,
      page,
      chosen: values['post_ids'] ?? [],
      posts: posts.map(({ id, number, author, content }) => ({
        value: id,
        label: `#${number} ${author.display_name ?? author.username}`,
        help: markdown.excerpt(content, EXCERPT),
      })),
      to: textOf(values['to']) || 'new',
      title: textOf(values['title']),
      category_id: textOf(values['category_id']) || head.categoryId,
      options: open.map(({ id, name }) => ({ value: id, label: name })),
      discussion_id: textOf(values['discussion_id']),
      reason: textOf(values['reason']),
      pager: pagerOf(page, last, (number) => (number > 1 ? `${path}?page=${number}` : path)),
    };
    return view('@discussions/move', { name: 'move', title: phrase('discussions:move.title'), noindex: true }, model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const head = await load(retry);
    if (!head) throw notFound();
    const draft = draftOf(retry);
    return moveView(head, retry.actor, numberOf(textOf(draft.values['page'])) ?? 1, draft);
  };

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/move',
    can: moderate,
    load,
    authorize,
    query: Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })), post: Text }),
  })(async ({ actor, target: head, query: { page }, req }) => {
    const number = numberOf(queryOf(req)['post'] ?? '');
    const post = number === undefined ? undefined : await reader.postNumbered(head, String(number), actor);
    const values = { post_ids: post ? [post.row.id] : [] };
    return moveView(head, actor, page ?? (post ? pageOf(post.row.number) : 1), { values });
  });

  /** The discussion that the form names. */
  const named = async (head: DiscussionHead, text: string, viewer: Viewer): Promise<string> => {
    const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'discussion_id', message }]);
    const other = await reader.find(namedDiscussion(text), viewer);
    if (!other || other.deleted) throw wrong('is not a discussion you can see');
    if (other.id === head.id) throw wrong('is the discussion in which the posts are already');
    return other.id;
  };

  plugin.route(pages, {
    method: 'post',
    path: '/d/:address/move',
    can: moderate,
    load,
    authorize,
    options: { rerender },
    body: Type.Object({
      post_ids: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_CHOSEN })),
      to: Type.Optional(Type.Enum(['new', 'existing'])),
      title: Text,
      category_id: Text,
      discussion_id: Text,
      page: Text,
      merge: Text,
      reason: ReasonField,
    }),
  })(async ({ actor, target: head, body }) => {
    const by = { viewer: actor, reason: body.reason };
    const { post_ids: ids = [], to, discussion_id: other = '' } = body;
    if (body.merge !== undefined) return done(await mover.merge(head, await named(head, other, actor), by), 'merged');
    if (ids.length === 0) throw new InvalidInput([{ field: 'post_ids', message: 'has none: choose at least one' }]);
    const destination =
      to === 'existing'
        ? { discussionId: await named(head, other, actor) }
        : { title: textOf(body.title), categoryId: textOf(body.category_id) };
    return done(await mover.move(head, ids, destination, by), 'moved');
  });

  const done = ({ discussion, posts }: Moved, what: 'moved' | 'merged') =>
    redirect(postPath(discussion.number, posts[0]?.number ?? 1), {
      notice: phrase(`discussions:move.${what}`, { count: posts.length }),
    });
}
