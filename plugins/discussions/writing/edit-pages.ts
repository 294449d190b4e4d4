import { HttpError, notFound, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  discussionFields,
  moderate,
  PIN_PLACES,
  type ComposerSlot,
  type DiscussionHead,
  type PinPlace,
} from 'parley-forum/plugins/discussions';
import {
  draftOf,
  formErrors,
  OpenedField,
  pages,
  phrase,
  previewOf,
  redirect,
  textOf,
  view,
  type FormDraft,
  type Phrase,
  type Redirect,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { discussionPath, postPath } from '../identifiers.ts';
import { dayOf, endOfDay } from '../reading/days.ts';
import { editedMeanwhile } from './conflicts.ts';
import { SWITCH_ACTIONS, SWITCHES, type Changes } from './editor.ts';
import { collides, formValues, initialForm, touchedFields, type FormValues } from './opened-form.ts';
import type { FoundPost } from '../reading/reader.ts';
import { cacheTagsOf } from '../discussion-routes.ts';
import { ReasonField, withFields } from '../schemas.ts';
import { composer, findByPath, initialValues, siteZone, type PageDeps } from '../page-parts.ts';

const Text = Type.Optional(Type.String());
/** Where the discussion is pinned; empty if it is not. */
const PinnedIn = Type.Optional(Type.Enum(['', ...PIN_PLACES]));
/** The last day on which it is pinned; empty for no end. */
const PinEnd = Type.Optional(Type.Union([Type.Literal(''), Type.String({ format: 'date' })]));
interface PinFields {
  readonly pinned_in?: PinPlace | '' | undefined;
  readonly pinned_until?: string | undefined;
}
const Reason = Type.Object({ reason: ReasonField });
/** Actions of moderators in the menu of a discussion. */
const MENU_ACTIONS = [...SWITCH_ACTIONS, 'restore'] as const;

/** The changes to a pin that a form asks for; none for absent fields. */
const pinIn = ({ pinned_in: place, pinned_until: day }: PinFields, zone: string): Changes => ({
  pinnedIn: place === '' ? null : place,
  pinnedUntil: day === undefined ? undefined : day === '' ? null : endOfDay(day, zone),
});

/** Moderators are asked for a reason when they change someone else's text. */
const reasonOf = (viewer: Viewer, authorId: string, draft?: FormDraft): object =>
  viewer.id === authorId ? {} : { asks: true, reason: textOf(draft?.values['reason']) };

const confirmView = (title: Phrase, model: object, draft?: FormDraft): View => {
  return view('@discussions/confirm', { name: 'confirm', title, noindex: true }, { ...model, ...formErrors(draft) });
};

/** Where the author or a moderator is redirected after deleting a discussion. */
const deletedDiscussion = ({ rights }: PageDeps, head: DiscussionHead, viewer: Viewer): Redirect =>
  redirect(rights.canModerate(viewer) ? discussionPath(head) : '/', {
    notice: phrase('discussions:deleted.discussion'),
    undo: rights.canUndo(head, viewer) ? `/p/${head.firstPostId}/restore` : undefined,
  });

/** /p/…: the permalink of a post, and the pages to change it. */
export function postPages(deps: PageDeps): void {
  const { plugin, reader, rights, editor, markdown } = deps;
  const load = ({ actor, params }: { readonly actor: Viewer; readonly params: Readonly<Record<string, string>> }) =>
    reader.findPost(params['id'] ?? '', actor);
  const authorize = ({ actor, target }: { readonly actor: Viewer; readonly target: FoundPost }) =>
    rights.canEdit(target.discussion, target.row.author_id, actor);
  const editKey = ({ row }: FoundPost): string => `edit-${row.id}`;
  const pathOf = ({ row, discussion }: FoundPost): string => postPath(discussion.number, row.number);

  const editView = (post: FoundPost, viewer: Viewer, draft: FormDraft): View => {
    const model = {
      ...formErrors(draft),
      number: post.row.number,
      discussion: post.discussion,
      back: pathOf(post),
      action: `/p/${post.row.id}/edit`,
      updated_at: textOf(draft.values['updated_at']) || post.row.updated_at.toISOString(),
      ...reasonOf(viewer, post.row.author_id, draft),
      composer: composer(draft, {
        key: editKey(post),
        writes: 'post',
        cancel: pathOf(post),
        rows: 12,
        discussion: post.discussion,
      }),
    };
    return view('@discussions/edit', { name: 'edit', title: phrase('discussions:edit.page'), noindex: true }, model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const post = await load(retry);
    if (!post) throw notFound();
    const draft = draftOf(retry);
    // Once told about a concurrent change, the user may overwrite it.
    const { updated_at: _seen, ...values } = draft.values;
    return editView(post, retry.actor, retry.status === 409 ? { ...draft, values } : draft);
  };

  plugin.route(pages, {
    method: 'get',
    path: '/p/:id',
    can: 'public',
    load,
    cacheTags: ({ target }) => cacheTagsOf(target.discussion.id),
  })(({ target }) => {
    const {
      row: { number, content },
      discussion,
    } = target;
    return view(
      '@discussions/source',
      { name: 'post', title: phrase('discussions:post.of', { number, title: discussion.title }), noindex: true },
      { number, content, discussion, back: pathOf(target) },
    );
  });

  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/edit',
    can: 'member',
    load,
    authorize,
  })(async ({ actor, target, req }) => {
    const asked = { key: editKey(target), viewer: actor, req };
    return editView(target, actor, await initialValues(deps, { content: target.row.content }, asked));
  });

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/edit',
    can: 'member',
    options: { longText: true, rerender },
    load,
    authorize,
    body: Type.Object({ content: Text, preview: Text, reason: ReasonField, updated_at: Text }),
  })(async ({ actor, target, body }) => {
    if (body.preview !== undefined) return editView(target, actor, await previewOf(markdown, body));
    await editor.edit(target, textOf(body.content), { viewer: actor, reason: body.reason }, body.updated_at);
    return redirect(pathOf(target), { notice: phrase('discussions:saved') });
  });

  const deleteView = (post: FoundPost, viewer: Viewer, draft?: FormDraft): View => {
    const { row } = post;
    const title = phrase(row.number === 1 ? 'discussions:delete.discussion' : 'discussions:delete.post');
    const asked = {
      text: markdown.excerpt(row.content, 200),
      action: `/p/${row.id}/delete`,
      cancel: pathOf(post),
    };
    return confirmView(title, { ...asked, ...reasonOf(viewer, row.author_id, draft) }, draft);
  };
  const askAgain = async (retry: Retry): Promise<View> => {
    const post = await load(retry);
    if (!post) throw notFound();
    return deleteView(post, retry.actor, draftOf(retry));
  };
  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/delete',
    can: 'member',
    load,
    authorize,
  })(({ actor, target }) => deleteView(target, actor));

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/delete',
    can: 'member',
    options: { rerender: askAgain },
    load,
    authorize,
    body: Reason,
  })(async ({ actor, target, body: { reason } }) => {
    await editor.removePost(target, { viewer: actor, reason });
    if (target.row.number === 1) return deletedDiscussion(deps, target.discussion, actor);
    return redirect(pathOf(target), {
      notice: phrase('discussions:deleted.post'),
      undo: rights.canUndo(target.discussion, actor) ? `/p/${target.row.id}/restore` : undefined,
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/restore',
    can: 'member',
    load: ({ actor, params }) => reader.findRestorablePost(params['id'] ?? '', actor),
  })(async ({ actor, target }) => {
    await editor.restorePost(target, { viewer: actor });
    const notice = phrase(target.row.number === 1 ? 'discussions:moderated.restore' : 'discussions:restored.post');
    return redirect(pathOf(target), { notice });
  });
}

/** /d/…/edit, delete and moderate: changing a whole discussion. */
export function managePages(deps: PageDeps): void {
  const { plugin, categories, reader, rights, editor, clock } = deps;
  const load = findByPath(deps);
  const authorize = ({ actor, target }: { readonly actor: Viewer; readonly target: DiscussionHead }) =>
    rights.canEdit(target, target.authorId, actor);
  const EditForm = withFields(
    plugin,
    discussionFields,
    Type.Object({
      title: Text,
      category_id: Text,
      reason: ReasonField,
      pinned_in: PinnedIn,
      pinned_until: PinEnd,
      ...OpenedField,
    }),
    'body',
  );

  const zone = (): string => siteZone(deps);
  const shownOf = async (head: DiscussionHead, viewer: Viewer): Promise<FormValues> => {
    const found = await reader.discussion(head, viewer);
    if (!found) throw notFound();
    return formValues(plugin, found.record, zone());
  };
  const editView = (head: DiscussionHead, viewer: Viewer, draft: FormDraft): View => {
    const open = categories
      .visible(viewer)
      .filter((category) => category.id === head.categoryId || categories.rights(category, viewer).create);
    const errors = formErrors(draft);
    const model = {
      ...errors,
      title: textOf(draft.values['title']),
      category_id: textOf(draft.values['category_id']),
      options: open.map(({ id, name }) => ({ value: id, label: name })),
      pins: rights.inCategory(head.categoryId, viewer).moderate,
      pinned_in: textOf(draft.values['pinned_in']),
      pinned_until: textOf(draft.values['pinned_until']),
      opened: textOf(draft.values['_opened']),
      action: `/d/${head.number}/edit`,
      back: discussionPath(head),
      ...reasonOf(viewer, head.authorId, draft),
      fields: {
        writes: 'discussion',
        discussion: head,
        values: draft.values,
        wrong: errors.wrong,
      } satisfies ComposerSlot,
    };
    return view(
      '@discussions/manage',
      { name: 'edit', title: phrase('discussions:manage.title'), noindex: true },
      model,
    );
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const head = await load(retry);
    if (!head) throw notFound();
    const draft = draftOf(retry);
    if (retry.status !== 409) return editView(head, retry.actor, draft);
    // Once told about a concurrent change, the user may overwrite it. Fields they have not touched show the current
    // values.
    const now = initialForm(await shownOf(head, retry.actor));
    return editView(head, retry.actor, { ...draft, values: { ...now, ...touchedFields(draft.values) } });
  };

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/edit',
    can: 'member',
    load,
    authorize,
  })(async ({ actor, target: head }) => editView(head, actor, { values: initialForm(await shownOf(head, actor)) }));

  plugin.route(pages, {
    method: 'post',
    path: '/d/:address/edit',
    can: 'member',
    options: { rerender },
    body: EditForm,
    load,
    authorize,
  })(async ({ actor, target: head, body }) => {
    const touched = touchedFields(body);
    const pin = rights.inCategory(head.categoryId, actor).moderate ? pinIn(touched, zone()) : {};
    await editor.change(
      head,
      { title: touched.title, categoryId: touched.category_id, ...pin, fields: touched },
      { viewer: actor, reason: body.reason },
      async () => {
        if (collides(body, await shownOf(head, actor))) throw editedMeanwhile();
      },
    );
    return redirect(`/d/${head.number}`, { notice: phrase('discussions:saved') });
  });

  const deleteView = (head: DiscussionHead, viewer: Viewer, draft?: FormDraft): View => {
    const asked = {
      text: head.title,
      action: `/d/${head.number}/delete`,
      cancel: discussionPath(head),
    };
    const title = phrase('discussions:delete.discussion');
    return confirmView(title, { ...asked, ...reasonOf(viewer, head.authorId, draft) }, draft);
  };
  const askAgain = async (retry: Retry): Promise<View> => {
    const head = await load(retry);
    if (!head) throw notFound();
    return deleteView(head, retry.actor, draftOf(retry));
  };
  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/delete',
    can: 'member',
    load,
    authorize,
  })(({ actor, target: head }) => deleteView(head, actor));

  plugin.route(pages, {
    method: 'post',
    path: '/d/:address/delete',
    can: 'member',
    options: { rerender: askAgain },
    load,
    authorize,
    body: Reason,
  })(async ({ actor, target: head, body: { reason } }) => {
    await editor.remove(head, { viewer: actor, reason });
    return deletedDiscussion(deps, head, actor);
  });

  const moderateAgain = async (retry: Retry): Promise<View> => {
    const head = await load(retry);
    const what = MENU_ACTIONS.find((one) => one === retry.body['action']);
    if (!head) throw notFound();
    if (!what) throw new HttpError(retry.status, retry.message);
    const draft = draftOf(retry);
    const title = phrase(`discussions:tools.${what}`);
    const model = {
      ...draft.values,
      what,
      submit: what === 'pin' || what === 'lock' ? `discussions:${what}.submit` : `discussions:tools.${what}`,
      action: `/d/${head.number}/moderate`,
      back: discussionPath(head),
      fields: [{ name: 'action', value: what }],
      today: dayOf(new Date(clock.now()), zone()),
      ...formErrors(draft),
    };
    return view('@discussions/moderate', { name: 'edit', title, noindex: true }, model);
  };
  plugin.route(pages, {
    method: 'post',
    path: '/d/:address/moderate',
    can: moderate,
    options: { rerender: moderateAgain },
    load,
    body: Type.Object({
      action: Type.Enum([...MENU_ACTIONS]),
      reason: ReasonField,
      lock_reason: ReasonField,
      pinned_in: PinnedIn,
      pinned_until: PinEnd,
    }),
  })(async ({ actor, target: head, body }) => {
    const { action, reason } = body;
    const by = { viewer: actor, reason };
    if (!rights.inCategory(head.categoryId, actor).moderate)
      throw new HttpError(403, 'You do not moderate this category');
    if (action === 'restore') await editor.restore(head, by);
    else if (action === 'pin') await editor.change(head, { ...SWITCHES.pin, ...pinIn(body, zone()) }, by);
    else if (action === 'lock') await editor.change(head, { ...SWITCHES.lock, lockReason: body.lock_reason }, by);
    else await editor.change(head, SWITCHES[action], by);
    return redirect(discussionPath(head), { notice: phrase(`discussions:moderated.${action}`) });
  });
}
