import { InvalidInput, notFound, Type, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { moderate, type DiscussionHead } from 'parley-forum/plugins/discussions';
import {
  draftOf,
  formErrors,
  pagerOf,
  pages,
  phrase,
  redirect,
  textOf,
  view,
  type FormDraft,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { discussionPath, numberOf, postPath } from '../identifiers.ts';
import { findByPath, queryOf, type PageDeps } from '../page-parts.ts';
import { ReasonField } from '../schemas.ts';
import { findByTitle } from '../lists/suggestions.ts';
import { MAX_CHOSEN, namedDiscussion, titleWords } from './destination.ts';
import type { Moved } from './post-mover.ts';

/** Number of posts on one page of the selection. */
const PAGE = 50;
/** Characters shown of each post. */
const EXCERPT = 160;
/** Maximum number of discussions offered for a title search. */
const MOST_FOUND = 10;
const Text = Type.Optional(Type.String({ maxLength: 2_000 }));

/** The chosen kind of destination: naming an existing discussion, without a title for a new one, implies the choice. */
const meant = ({ to, title, discussion_id: other }: Readonly<Record<string, unknown>>): 'new' | 'existing' =>
  to === 'existing' || (textOf(other).trim() !== '' && textOf(title).trim() === '') ? 'existing' : 'new';

/** How the form identifies the other discussion: as typed, or as one of those found for the text typed before. */
interface Chosen {
  readonly discussion_id?: string | undefined;
  readonly found_for?: string | undefined;
  readonly found_id?: string | undefined;
}

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const pageOf = (number: number): number => Math.ceil(number / PAGE);

/** /d/…/move: which posts to move and where to, or all of them to merge the discussion. */
export function movePages(deps: PageDeps, { data }: { readonly data: Data }): void {
  const { plugin, categories, reader, mover, markdown, records } = deps;
  const load = findByPath(deps);
  const authorize = ({ target }: { readonly target: DiscussionHead }): boolean => !target.deleted;

  /** Other discussions whose titles match the words typed; none if the text identifies a discussion. */
  const foundBy = async (head: DiscussionHead, text: string, viewer: Viewer) => {
    const words = titleWords(text);
    const found = words === undefined ? [] : await findByTitle({ data, categories }, words, viewer, MOST_FOUND + 1);
    return found.filter(({ id }) => id !== head.id).slice(0, MOST_FOUND);
  };

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
    const chosen = listOf(values['post_ids']);
    const typed = textOf(values['discussion_id']);
    const others = await foundBy(head, typed, viewer);
    const model = {
      ...formErrors(draft),
      discussion: head,
      back: discussionPath(head),
      path,
      page,
      chosen,
      // Those on other pages of the selection.
      carried: chosen.filter((id) => !posts.some((post) => post.id === id)),
      posts: posts.map(({ id, number, author, content }) => ({
        value: id,
        label: `#${number} ${author.display_name ?? author.username}`,
        help: markdown.excerpt(content, EXCERPT),
      })),
      to: meant(values),
      title: textOf(values['title']),
      category_id: textOf(values['category_id']) || head.categoryId,
      options: open.map(({ id, name }) => ({ value: id, label: name })),
      discussion_id: typed,
      found: others.map((other) => ({
        value: discussionPath(other),
        label: other.title,
        help: [`#${other.number}`, other.category].filter(Boolean).join(' · '),
      })),
      found_id: textOf(values['found_id']),
      reason: textOf(values['reason']),
      pager: pagerOf(page, last, path),
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
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      post: Text,
      from: Text,
    }),
  })(async ({ actor, target: head, query: { page }, req }) => {
    const from = numberOf(queryOf(req)['from'] ?? '');
    if (from !== undefined) {
      const posts = await reader.movableFrom(head, from, MAX_CHOSEN);
      const values = { post_ids: posts.map(({ id }) => id) };
      return moveView(head, actor, page ?? pageOf(posts[0]?.number ?? 1), { values });
    }
    const number = numberOf(queryOf(req)['post'] ?? '');
    const post = number === undefined ? undefined : await reader.postNumbered(head, String(number), actor);
    const values = { post_ids: post ? [post.row.id] : [] };
    return moveView(head, actor, page ?? (post ? pageOf(post.row.number) : 1), { values });
  });

  /** The discussion that the form identifies, directly or as one of those found for the words in it. */
  const named = async (head: DiscussionHead, body: Chosen, viewer: Viewer): Promise<string> => {
    const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'discussion_id', message }]);
    const { discussion_id: text = '', found_for: words, found_id: chosen = '' } = body;
    if (text.trim() === '') throw wrong('is required');
    const name = namedDiscussion(words === text && chosen !== '' ? chosen : text);
    if (name === undefined) {
      const found = await foundBy(head, text, viewer);
      throw wrong(
        found.length > 0
          ? 'does not identify a discussion yet: choose one of those found'
          : 'does not match the title of any discussion you can see',
      );
    }
    const other = await reader.find(name, viewer);
    if (!other || other.deleted) throw wrong('is not a discussion you can see');
    if (other.id === head.id) throw wrong('is the discussion that the posts are already in');
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
      found_for: Text,
      found_id: Text,
      page: Text,
      turn: Text,
      merge: Text,
      reason: ReasonField,
    }),
  })(async ({ actor, target: head, body }) => {
    const by = { viewer: actor, reason: body.reason };
    const { post_ids: ids = [] } = body;
    if (body.turn !== undefined) return moveView(head, actor, numberOf(body.turn) ?? 1, { values: body });
    if (body.merge !== undefined) return done(await mover.merge(head, await named(head, body, actor), by), 'merged');
    if (ids.length === 0) throw new InvalidInput([{ field: 'post_ids', message: 'is empty: choose at least one' }]);
    const destination =
      meant(body) === 'existing'
        ? { discussionId: await named(head, body, actor) }
        : { title: textOf(body.title), categoryId: textOf(body.category_id) };
    return done(await mover.move(head, ids, destination, by), 'moved');
  });

  const done = ({ discussion, posts }: Moved, what: 'moved' | 'merged') =>
    redirect(postPath(discussion.number, posts[0]?.number ?? 1), {
      notice: phrase(`discussions:move.${what}`, { count: posts.length }),
    });
}
