import { randomBytes } from 'node:crypto';
import { HttpError, Type } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { discussionFields, type DiscussionHead, type PostRecord } from 'parley-forum/plugins/discussions';
import {
  draftOf,
  formErrors,
  pages,
  phrase,
  previewOf,
  redirect,
  textOf,
  view,
  type FormDraft,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { discussionPath, postPath } from '../identifiers.ts';
import { withFields } from '../schemas.ts';
import {
  composer,
  findOrMerged,
  initialValues,
  numberInPath,
  quotation,
  queryOf,
  replyKey,
  type PageDeps,
} from '../page-parts.ts';

const Text = Type.Optional(Type.String());
/** Characters shown of the post being answered. */
const ANSWERED = 400;
/** Maximum number of categories shown as cards; more are shown in a drop-down list. */
const MOST_CARDS = 12;
interface AnsweredPost {
  readonly author: PostRecord['author'];
  readonly number: number;
  readonly url: string;
  readonly excerpt: string;
  /** False for the first post, because every reply answers it. */
  readonly removable: boolean;
}
/** Number of the post that a URL says is answered; quoting a post answers it. */
const answeredIn = (query: Readonly<Record<string, string | undefined>>): string | undefined =>
  query['to'] || query['quote'] || undefined;
/** Id of the draft of a new discussion. */
const DRAFT_ID = /^[\da-f]{12}$/;
/**
 * The id of the draft that a form for a new discussion writes: the one given, or a new one, so that a form begins empty
 * beside others. `1` is the draft without an id, from before there were several.
 */
const draftIdOf = (given: string | undefined): string => {
  if (given === '1') return '';
  return given !== undefined && DRAFT_ID.test(given) ? given : randomBytes(6).toString('hex');
};
const draftParameter = (id: string): string => id || '1';
const newKey = (id: string): string => (id === '' ? 'new' : `new-${id}`);
const ReplyForm = Type.Object({ content: Text, preview: Text, remove: Text });

/** /new and /d/…/reply: pages to write new posts. */
export function writingPages(deps: PageDeps): void {
  const { plugin, categories, writer, reader, records, rights, markdown } = deps;
  // If the discussion was merged while the user was writing, their text is not lost.
  const load = findOrMerged(deps);
  const NewForm = withFields(
    plugin,
    discussionFields,
    Type.Object({ title: Text, content: Text, category_id: Text, preview: Text, draft: Text }),
    'body',
  );

  const newView = (viewer: Viewer, draft: FormDraft, id: string): View => {
    // Guests only get here if their session ended while they were writing: their text and their choice of category must
    // be preserved.
    const open = categories
      .visible(viewer)
      .filter((category) => isGuest(viewer) || categories.rights(category, viewer).create);
    if (open.length === 0) throw new HttpError(403, 'You may not start discussions here');
    const chosen = textOf(draft.values['category_id']);
    const category = open.find(({ id, slug }) => id === chosen || slug === chosen);
    const model = {
      ...formErrors(draft),
      draft: draftParameter(id),
      title: textOf(draft.values['title']),
      category_id: category?.id ?? '',
      options: open.map(({ id, name, description, hue }) => ({ value: id, label: name, help: description, hue })),
      cards: open.length <= MOST_CARDS,
      composer: composer(draft, {
        key: newKey(id),
        draft: draftParameter(id),
        writes: 'discussion',
        cancel: category ? `/c/${encodeURIComponent(category.slug)}` : '/',
        rows: 12,
      }),
    };
    return view('@discussions/new', { name: 'new', title: phrase('discussions:new.title'), noindex: true }, model);
  };

  plugin.route(pages, { method: 'get', path: '/new', can: 'member' })(async ({ actor, req }) => {
    await categories.refresh();
    const { category, title, draft } = queryOf(req);
    const id = draftIdOf(draft);
    const values = { category_id: category, title };
    return newView(actor, await initialValues(deps, values, { key: newKey(id), viewer: actor, req }), id);
  });

  plugin.route(pages, {
    method: 'post',
    path: '/new',
    can: 'member',
    body: NewForm,
    options: {
      longText: true,
      rerender: (retry) => newView(retry.actor, draftOf(retry), draftIdOf(textOf(retry.body['draft']))),
    },
  })(async ({ actor, body }) => {
    await categories.refresh();
    if (body.preview !== undefined) return newView(actor, await previewOf(markdown, body), draftIdOf(body.draft));
    const { held, written } = await writer.sendDiscussion(actor, {
      title: textOf(body.title),
      content: textOf(body.content),
      categoryId: textOf(body.category_id),
      fields: body,
    });
    return held ? redirect(held.path, { notice: held.notice }) : redirect(written.path);
  });

  /** The post being answered: the one given in the URL, if it exists, or the first one. */
  const answered = async (
    head: DiscussionHead,
    viewer: Viewer,
    number: string | undefined,
  ): Promise<AnsweredPost | undefined> => {
    const named = number === undefined ? undefined : await reader.postNumbered(head, number, viewer);
    const found = named?.row.deleted_at === null ? named : await reader.postNumbered(head, '1', viewer);
    const [post] = found ? await records.posts([found.row], viewer, false) : [];
    if (!post || !('author' in post)) return undefined;
    return {
      author: post.author,
      number: post.number,
      url: postPath(head.number, post.number),
      excerpt: markdown.excerpt(post.content, ANSWERED),
      removable: post.number > 1,
    };
  };

  const replyView = async (
    head: DiscussionHead,
    viewer: Viewer,
    draft: FormDraft,
    query: Readonly<Record<string, string | undefined>>,
  ): Promise<View> => {
    const post = await answered(head, viewer, answeredIn(query));
    const cancel = discussionPath(head);
    const model = {
      message: draft.message,
      problems: draft.problems,
      discussion: head,
      back: cancel,
      answered: post,
      // Omits a post that is gone, so that a rejected form succeeds the next time.
      action: `/d/${head.number}/reply${post?.removable ? `?to=${post.number}` : ''}`,
      composer: composer(draft, { key: replyKey(head), writes: 'post', cancel, rows: 10, discussion: head }),
    };
    return view(
      '@discussions/reply',
      { name: 'reply', title: phrase('discussions:reply.page', { title: head.title }), noindex: true },
      model,
    );
  };

  /**
   * The post of this discussion that is answered. For a discussion merged into it, the number in the URL refers to
   * another post, so it is ignored.
   */
  const named = (head: DiscussionHead, { params, req }: Pick<Retry, 'params' | 'req'>) =>
    numberInPath(params['address']) === head.number ? queryOf(req) : {};

  plugin.route(pages, { method: 'get', path: '/d/:address/reply', can: 'member', load })(
    async ({ actor, target: head, params, req }) => {
      if (numberInPath(params['address']) !== head.number) return redirect(`/d/${head.number}/reply`);
      rights.requireReply(head, actor);
      const quoted = await reader.postNumbered(head, queryOf(req)['quote'] ?? '', actor);
      const [post] = quoted ? await records.posts([quoted.row], actor, false) : [];
      const content = post && 'author' in post ? quotation(post, head) : '';
      const draft = await initialValues(deps, { content }, { key: replyKey(head), viewer: actor, req });
      return replyView(head, actor, draft, queryOf(req));
    },
  );

  plugin.route(pages, {
    method: 'post',
    path: '/d/:address/reply',
    can: 'member',
    load,
    body: ReplyForm,
    options: {
      longText: true,
      rerender: async (retry) => {
        const head = await load(retry);
        if (!head) throw new HttpError(404, 'There is no such discussion');
        return replyView(head, retry.actor, draftOf(retry), named(head, retry));
      },
    },
  })(async ({ actor, target: head, body, params, req }) => {
    rights.requireReply(head, actor);
    const query = named(head, { params, req });
    if (body.remove !== undefined) return replyView(head, actor, { values: body }, {});
    if (body.preview !== undefined) return replyView(head, actor, await previewOf(markdown, body), query);
    const { held, written } = await writer.sendReply(actor, {
      discussionId: head.id,
      content: textOf(body.content),
      replyTo: answeredIn(query),
    });
    if (held) return redirect(held.path, { notice: held.notice });
    return redirect(written.path, { notice: phrase('discussions:replied', { number: written.number }) });
  });
}
