import { notFound, Type, type Clock, type Environment, type PluginHandle, type Settings } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { api, IdParams, limitOf, nullable, pageFields, Paging, pagingResult } from 'parley-forum/plugins/api';
import {
  categoryFields,
  CategoryRecord,
  discussionFields,
  DiscussionRecord,
  editPost,
  PIN_PLACES,
  postFields,
  PostRecord,
  PostStub,
  SORTS,
  startDiscussion,
  discussionCacheTags,
  listCacheTags,
  type DiscussionHead,
} from 'parley-forum/plugins/discussions';
import { RENDERED_TTL, renderedTag, type Web } from 'parley-forum/plugins/web';
import type { CategoryService } from './categories/category-service.ts';
import type { DiscussionEditor } from './writing/editor.ts';
import type { PostMover } from './moving/post-mover.ts';
import { chooseFilter } from './lists/list-filters.ts';
import { listItems } from './lists/list-items.ts';
import { countTag, type DiscussionReader } from './reading/reader.ts';
import type { Records } from './reading/records.ts';
import type { Revisions } from './revisions/revisions.ts';
import type { Rights } from './rights.ts';
import { heldAnswer, HeldAnswer, LockReasonField, PostPaging, ReasonField, withFields } from './schemas.ts';
import type { DiscussionWriter } from './writing/writer.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly categories: CategoryService;
  readonly reader: DiscussionReader;
  readonly records: Records;
  readonly revisions: Revisions;
  readonly rights: Rights;
  readonly writer: DiscussionWriter;
  readonly editor: DiscussionEditor;
  readonly mover: PostMover;
  readonly web: Web | undefined;
}
/** Cache tags of a response that shows one discussion. */
export const cacheTagsOf = (id: string): readonly string[] => [
  discussionCacheTags.discussion(id),
  discussionCacheTags.all,
  discussionCacheTags.categories,
  accessTag,
];

/** The routes under /api/discussions. */
export function discussionRoutes(deps: RouteDeps): void {
  const { plugin, environment, settings, clock, categories, reader, records, rights, writer, editor, web } = deps;
  const Discussion = withFields(plugin, discussionFields, DiscussionRecord);
  const Post = Type.Union([withFields(plugin, postFields, PostRecord), PostStub]);
  const load = ({ actor, params }: { actor: Parameters<DiscussionReader['find']>[1]; params: { id: string } }) =>
    reader.find(params.id, actor);
  const cacheTags = ({ target }: { target: DiscussionHead }) => cacheTagsOf(target.id);

  plugin.route(api, {
    method: 'get',
    path: '/discussions',
    can: 'public',
    summary: 'Discussions the caller may see',
    query: Type.Object({
      ...Paging,
      category_id: Type.Optional(Type.String({ maxLength: 100, description: 'Id or slug' })),
      sort: Type.Optional(Type.Enum([...SORTS])),
      filter: Type.Optional(
        Type.String({
          maxLength: 40,
          description: 'A filter that the list of the category offers, such as `unsolved`',
        }),
      ),
    }),
    result: Type.Object({ discussions: Type.Array(Discussion), html: Type.String(), ...pagingResult }),
    cacheTags: () => [...listCacheTags, discussionCacheTags.views, accessTag, renderedTag],
  })(async (call) => {
    const { actor, query } = call;
    await categories.refresh();
    const category = query.category_id === undefined ? undefined : categories.find(query.category_id, actor);
    if (query.category_id !== undefined && !category) throw notFound('There is no such category');
    const { sort, offset, cursor } = query;
    const { where } = await chooseFilter(plugin, category, query.filter);
    const page = await reader.list(
      { category, where, sort, offset, cursor, limit: limitOf(settings, query.limit) },
      actor,
    );
    if (web) call.expiresAt = clock.now() + RENDERED_TTL;
    const html = await web?.fragment(
      actor,
      '@discussions/rows',
      { discussions: listItems(page.items, categories.all(), category) },
      { inSiteLanguage: true },
    );
    return { discussions: [...page.items], html: html?.toString() ?? '', ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/discussions/:id',
    can: 'public',
    summary: 'One discussion with a page of its posts',
    params: IdParams,
    query: Type.Object(PostPaging),
    result: Type.Object({
      discussion: Discussion,
      posts: Type.Array(Post),
      category: withFields(plugin, categoryFields, CategoryRecord),
      ...pagingResult,
    }),
    load,
    cacheTags: ({ target }) => [
      ...cacheTagsOf(target.id),
      discussionCacheTags.viewsOf(target.id),
      countTag(target.categoryId),
    ],
  })(async ({ actor, target, query }) => {
    const found = await reader.discussion(target, actor);
    const category = categories.find(target.categoryId, actor);
    if (!found || !category) throw notFound('There is no such discussion');
    const request = { ...query, limit: limitOf(settings, query.limit) };
    const [page, [shown]] = await Promise.all([
      reader.posts({ head: target, lastNumber: found.lastNumber }, request, actor),
      records.categories([category], actor),
    ]);
    return { discussion: found.record, posts: [...page.items], category: shown!, ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/discussions/:id/posts',
    can: 'public',
    summary: 'Posts of a discussion',
    params: IdParams,
    query: Type.Object({ ...PostPaging, posts_order: Type.Optional(Type.Enum(['ASC', 'DESC'])) }),
    result: Type.Object({ posts: Type.Array(Post), ...pagingResult }),
    load,
    cacheTags,
  })(async ({ actor, target, query }) => {
    const found = await reader.discussion(target, actor);
    if (!found) throw notFound('There is no such discussion');
    const request = { ...query, limit: limitOf(settings, query.limit), descending: query.posts_order === 'DESC' };
    const page = await reader.posts({ head: target, lastNumber: found.lastNumber }, request, actor);
    return { posts: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'post',
    path: '/discussions',
    can: startDiscussion,
    summary: 'Start a discussion',
    status: 201,
    options: {
      form: true,
      longText: true,
      accepted: HeldAnswer,
      location: ({ discussion_id: id }) => `/api/discussions/${id}`,
    },
    body: withFields(
      plugin,
      discussionFields,
      Type.Object({ title: Type.String(), content: Type.String(), category_id: Type.String({ maxLength: 100 }) }),
      'body',
    ),
    result: Type.Object({ discussion_id: Type.String(), post_id: Type.String(), discussion: Discussion }),
  })(async ({ actor, body }) => {
    const { held, written } = await writer.sendDiscussion(actor, {
      title: body.title,
      content: body.content,
      categoryId: body.category_id,
      fields: body,
    });
    if (held) return heldAnswer(held, environment.baseUrl);
    const [discussion] = await reader.recordsOf([written.discussionId], actor);
    return { discussion_id: written.discussionId, post_id: written.postId, discussion: discussion! };
  });

  plugin.route(api, {
    method: 'put',
    path: '/discussions/:id',
    can: editPost,
    summary: 'Rename, move, retag, pin or lock a discussion',
    params: IdParams,
    body: withFields(
      plugin,
      discussionFields,
      Type.Object({
        title: Type.Optional(Type.String()),
        category_id: Type.Optional(Type.String({ maxLength: 100 })),
        is_pinned: Type.Optional(Type.Boolean()),
        pinned_in: Type.Optional(
          nullable(
            Type.Enum([...PIN_PLACES], {
              description:
                'The lists at whose top it is pinned; null unpins it. Default: `everywhere`, or where it is currently pinned',
            }),
          ),
        ),
        pinned_until: Type.Optional(
          nullable(Type.String({ format: 'date-time', description: 'When the pin ends; null: never' })),
        ),
        is_locked: Type.Optional(Type.Boolean()),
        lock_reason: LockReasonField,
        reason: ReasonField,
      }),
      'body',
    ),
    result: Type.Object({ discussion: Discussion }),
    load,
    authorize: ({ actor, target }) => rights.canEdit(target, target.authorId, actor),
  })(async ({ actor, target, body }) => {
    await editor.change(
      target,
      {
        title: body.title,
        categoryId: body.category_id,
        pinned: body.is_pinned,
        pinnedIn: body.pinned_in,
        pinnedUntil: typeof body.pinned_until === 'string' ? new Date(body.pinned_until) : body.pinned_until,
        locked: body.is_locked,
        lockReason: body.lock_reason,
        fields: body,
      },
      { viewer: actor, reason: body.reason },
    );
    return { discussion: (await reader.discussion(target, actor))!.record };
  });

  plugin.route(api, {
    method: 'delete',
    path: '/discussions/:id',
    can: editPost,
    summary: 'Delete a discussion',
    params: IdParams,
    result: Type.Object({}),
    query: Type.Object({ reason: ReasonField }),
    load,
    authorize: ({ actor, target }) => rights.canEdit(target, target.authorId, actor),
  })(async ({ actor, target, query: { reason } }) => {
    await editor.remove(target, { viewer: actor, reason });
    return {};
  });

  plugin.route(api, {
    method: 'post',
    path: '/discussions/:id/restore',
    can: editPost,
    summary:
      'Restore a deleted discussion; for moderators, and for a limited time for authors who deleted it themselves',
    params: IdParams,
    result: Type.Object({ discussion: Discussion }),
    load: ({ actor, params }) => reader.findRestorable(params.id, actor),
  })(async ({ actor, target }) => {
    await editor.restore(target, { viewer: actor });
    return { discussion: (await reader.discussion(target, actor))!.record };
  });
}
