import type { Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import {
  composerValues,
  type ComposerSlot,
  type DiscussionHead,
  type DiscussionRecord,
  type PostRecord,
  type PostStub,
} from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { formErrors, SafeHtml, textOf, type FormDraft } from 'parley-forum/plugins/web';
import { numberOf, postPath } from './identifiers.ts';
import { lastDayBefore } from './reading/days.ts';
import type { RouteDeps } from './discussion-routes.ts';
import type { Rights } from './rights.ts';
import type { PostRow } from './rows.ts';

export interface PageDeps extends RouteDeps {
  readonly markdown: Markdown;
  /** Milliseconds after their first post for which authors are marked as new. */
  newFor(): number;
}
/** Number of rows on one page of a list. */
export const PAGE_SIZE = 20;

/** Returns a `load` function that finds the discussion of a page's path by its number, with or without the slug. */
export function findByPath({ reader }: Pick<PageDeps, 'reader'>) {
  return ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<DiscussionHead | undefined> => {
    const number = numberInPath(params['address']);
    return number === undefined ? Promise.resolve(undefined) : reader.find(String(number), actor);
  };
}

/** The number of a discussion in the path of a page. */
export const numberInPath = (address = ''): number | undefined => numberOf(/^(\d+)(?:-.*)?$/.exec(address)?.[1] ?? '');

/** Like `findByPath`, but falls back to the discussion into which that one was merged. */
export function findOrMerged({ reader }: Pick<PageDeps, 'reader'>) {
  const find = findByPath({ reader });
  return async (call: Parameters<typeof find>[0]): Promise<DiscussionHead | undefined> =>
    (await find(call)) ?? reader.mergedInto(String(numberInPath(call.params['address'])), call.actor);
}

/** Like `findByPath`, but falls back to the path to redirect to if the discussion was merged or the post has moved. */
export function findOrFollow({ reader }: Pick<PageDeps, 'reader'>) {
  const find = findByPath({ reader });
  return async (call: Parameters<typeof find>[0]): Promise<DiscussionHead | string | undefined> => {
    const found = await find(call);
    if (found) return found;
    const { address = '', post = '' } = call.params;
    return reader.formerPlace(/^\d+/.exec(address)?.[0] ?? '', numberOf(post), call.actor);
  };
}

/** The time zone in which the site counts days. */
export const siteZone = ({ settings }: Pick<PageDeps, 'settings'>): string =>
  String(settings.get('site.timezone') ?? 'UTC');
/** A discussion's pin as form fields: the place, and the last day. */
export const pinValues = (
  { pinned_in: place, pinned_until: until }: Pick<DiscussionRecord, 'pinned_in' | 'pinned_until'>,
  zone: string,
): { readonly pinned_in: string; readonly pinned_until: string } => ({
  pinned_in: place ?? '',
  pinned_until: until === null ? '' : lastDayBefore(new Date(until), zone),
});

interface ComposerInput {
  /** Key of the draft, in the browser and elsewhere. */
  readonly key: string;
  readonly writes: ComposerSlot['writes'];
  /** Value of the parameter `draft` with which the address of the form leads back to this draft. */
  readonly draft?: string;
  readonly submit?: string;
  readonly cancel?: string;
  readonly rows?: number;
  readonly discussion?: DiscussionHead;
}
/** Draft key of a reply to a discussion, on whichever page it is written. */
export const replyKey = ({ id }: DiscussionHead): string => `reply-${id}`;

/** Arguments of the composer partial; a rejected or previewed draft includes its problem and its preview. */
export function composer(draft: FormDraft, given: ComposerInput): object {
  const { values, preview } = draft;
  const { wrong } = formErrors(draft);
  return {
    name: 'content',
    value: textOf(values['content']),
    problem: wrong['content'],
    preview,
    values,
    wrong,
    ...(given.discussion && { participants: `/api/discussions/${given.discussion.id}/participants` }),
    ...given,
  };
}

/** The initial values of a form, including the member's draft if the URL asks for it. */
export const initialValues = async (
  { plugin }: Pick<PageDeps, 'plugin'>,
  values: FormDraft['values'],
  { key, viewer, req }: { readonly key: string; readonly viewer: Viewer; readonly req: Request },
): Promise<FormDraft> => ({
  values: queryOf(req)['draft'] === undefined ? values : await plugin.filter(composerValues, values, { key, viewer }),
});

/** The model of the stub of a post that was deleted, or moved to another discussion. */
function placeModel(
  post: PostRecord | PostStub,
  head: DiscussionHead,
  { moderates, moved }: { readonly moderates: boolean; readonly moved: object | undefined },
): object {
  const place = { id: post.id, number: post.number, is_deleted: true };
  if (!('author' in post) && post.moved_post_id !== undefined) {
    // Its former URL redirects to it, wherever it is by then.
    return { ...place, moved: { ...moved, to: post.moved_post_id !== null && `/d/${head.number}/${post.number}` } };
  }
  return {
    // Moderators, who may restore it, see its text; others only see the stub.
    ...(moderates && 'author' in post && { author: post.author, html: new SafeHtml(post.html) }),
    ...place,
    url: postPath(head.number, post.number),
    actions: { restore: moderates && !head.deleted && `/p/${post.id}/restore` },
  };
}

/** A post with its HTML and the actions available to the viewer; `moved` describes where a moved post is now. */
export function postModel(
  post: PostRecord | PostStub,
  head: DiscussionHead,
  { rights, clock, newFor }: Pick<PageDeps, 'rights' | 'clock' | 'newFor'>,
  { viewer, moved }: { readonly viewer: Viewer; readonly moved: object | undefined },
): object {
  const moderates = rights.inCategory(head.categoryId, viewer).moderate;
  const url = postPath(head.number, post.number);
  if (!('author' in post) || post.is_deleted) return placeModel(post, head, { moderates, moved });
  return {
    ...post,
    ...linksOf(post, head),
    html: new SafeHtml(post.html),
    url,
    new_here: post.author_since !== undefined && clock.now() - Date.parse(post.author_since) < newFor(),
    by_author: post.author.id === head.authorId && !post.is_first,
    actions: {
      reply: rights.canReply(head, viewer) && `/d/${head.number}/reply?to=${post.number}`,
      history:
        post.edited_at !== null && rights.canReadHistory(head, post.author.id, viewer) && `/p/${post.id}/history`,
      menu: !isGuest(viewer) && `/p/${post.id}/menu`,
    },
  };
}

/** The post that this one answers, and the replies to it. */
function linksOf(post: PostRecord, head: DiscussionHead): object {
  const { reply_to_number: number, reply_to_author: author, reply_count: count, replies = [] } = post;
  const list = replies.map((reply) => ({ ...reply, url: postPath(head.number, reply.number) }));
  return {
    answers: number !== null && { number, author, url: postPath(head.number, number) },
    replies: count > 0 && { count, list, more: count - list.length },
  };
}

/** The actions in a post's menu, as URLs. */
export const postActions = (
  { id, number, author_id: authorId, edited_at: editedAt }: Pick<PostRow, 'id' | 'number' | 'author_id' | 'edited_at'>,
  head: DiscussionHead,
  rights: Rights,
  viewer: Viewer,
): object => {
  const mayChange = rights.canEdit(head, authorId, viewer);
  const movable = number > 1 && !head.deleted && rights.inCategory(head.categoryId, viewer).moderate;
  return {
    quote: rights.canReply(head, viewer) && `/d/${head.number}/reply?quote=${number}`,
    history: editedAt !== null && rights.canReadHistory(head, authorId, viewer) && `/p/${id}/history`,
    edit: mayChange && `/p/${id}/edit`,
    move: movable && `/d/${head.number}/move?post=${number}`,
    moveOn: movable && `/d/${head.number}/move?from=${number}`,
    delete: mayChange && `/p/${id}/delete`,
  };
};

/** Quotes the text of another post, with a link to it. */
export function quotation(post: PostRecord, head: DiscussionHead): string {
  const quoted = post.content
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
  return `> [@${post.author.username}](${postPath(head.number, post.number)}):\n${quoted}\n\n`;
}

/** The query as strings, without repeated parameters. */
export const queryOf = (req: Request): Readonly<Record<string, string | undefined>> =>
  req.query as Record<string, string | undefined>;
