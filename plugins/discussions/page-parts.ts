import type { Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { ComposerSlot, DiscussionHead, PostRecord, PostStub } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { SafeHtml, errorsByField, type Retry } from 'parley-forum/plugins/web';
import { numberOf, postPath } from './identifiers.ts';
import type { RouteDeps } from './discussion-routes.ts';

export interface PageDeps extends RouteDeps {
  readonly markdown: Markdown;
}
/** Rows of a list and posts of a discussion on one page. */
export const PAGE_SIZE = 20;

/** Finds the discussion of a page's path: its number, with or without the slug. */
export function findByPath({ reader }: Pick<PageDeps, 'reader'>) {
  return ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<DiscussionHead | undefined> => {
    const number = numberOf(/^(\d+)(?:-.*)?$/.exec(params['address'] ?? '')?.[1] ?? '');
    return number === undefined ? Promise.resolve(undefined) : reader.find(String(number), actor);
  };
}

/** The values of a form: initial ones, or those of a refused submission with its problems. */
export interface FormDraft {
  readonly values: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  readonly problems?: Retry['problems'] | undefined;
  readonly preview?: SafeHtml | undefined;
}
export const draftOf = ({ body, message, problems }: Retry): FormDraft => ({ values: body, message, problems });
/** Problems by field, for the inputs. */
export const problemsByField = ({ problems = [] }: FormDraft): Readonly<Record<string, string>> =>
  errorsByField(problems);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface ComposerInput {
  /** Key of the draft that the browser stores. */
  readonly key: string;
  readonly writes: ComposerSlot['writes'];
  readonly submit?: string;
  readonly cancel?: string;
  readonly rows?: number;
  readonly discussion?: DiscussionHead;
}
/** What the writing field is given; a draft that comes back brings its problem and its preview along. */
export function composer(draft: FormDraft, given: ComposerInput): object {
  const { values, preview } = draft;
  return {
    name: 'content',
    value: textOf(values['content']),
    problem: problemsByField(draft)['content'],
    preview,
    values,
    ...given,
  };
}

/**
 * What a text looks like, for those who pressed the button without script; a text that cannot be rendered says why in
 * its problem instead.
 */
export const previewOf = async (markdown: Markdown, values: Readonly<Record<string, unknown>>): Promise<FormDraft> => {
  const content = textOf(values['content']);
  return { values, preview: content.trim() === '' ? undefined : new SafeHtml(await markdown.render(content)) };
};

/** A post with its HTML and what the viewer may do with it. */
export function postModel(
  post: PostRecord | PostStub,
  head: DiscussionHead,
  { rights }: Pick<PageDeps, 'rights'>,
  viewer: Viewer,
): object {
  const moderates = rights.inCategory(head.categoryId, viewer).moderate;
  const url = postPath(head.number, post.number);
  if (!('author' in post) || post.is_deleted) {
    // Moderators, who may restore it, see its text; to others it is a stub.
    const said = moderates && 'author' in post ? { author: post.author, html: new SafeHtml(post.html) } : {};
    return {
      ...said,
      id: post.id,
      number: post.number,
      is_deleted: true,
      url,
      actions: { restore: moderates && !head.deleted && `/p/${post.id}/restore` },
    };
  }
  const mayChange = rights.canEdit(head, post.author.id, viewer);
  const mayReply = rights.canReply(head, viewer);
  const actions = {
    reply: mayReply && `/d/${head.number}/reply?to=${post.id}`,
    quote: mayReply && `/d/${head.number}/reply?quote=${post.id}`,
    history: post.edited_at !== null && rights.canReadHistory(head, post.author.id, viewer) && `/p/${post.id}/history`,
    edit: mayChange && `/p/${post.id}/edit`,
    delete: mayChange && `/p/${post.id}/delete`,
    more: !isGuest(viewer),
  };
  return {
    ...post,
    html: new SafeHtml(post.html),
    url,
    by_author: post.author.id === head.authorId && !post.is_first,
    actions,
  };
}

/** Text of another post as a quotation with a link to it. */
export function quotation(post: PostRecord, head: DiscussionHead): string {
  const quoted = post.content
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
  return `> [@${post.author.username}](${postPath(head.number, post.number)}):\n${quoted}\n\n`;
}

/** The query as text, without what came twice. */
export const queryOf = (req: Request): Readonly<Record<string, string | undefined>> =>
  req.query as Record<string, string | undefined>;
