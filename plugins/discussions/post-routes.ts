import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api, IdParams, limitOf, listOf, nullable, pageFields, Paging } from 'parley-forum/plugins/api';
import { editPost, postFields, PostRecord, PostStub, writeReply } from 'parley-forum/plugins/discussions';
import type { FoundPost } from './reading/reader.ts';
import { RevisionRecord } from './revisions/revisions.ts';
import { heldAnswer, HeldAnswer, ReasonField, withFields } from './schemas.ts';
import { cacheTagsOf, type RouteDeps } from './discussion-routes.ts';

/** The routes under /api/posts. */
export function postRoutes({
  plugin,
  environment,
  settings,
  reader,
  records,
  revisions,
  rights,
  writer,
  editor,
}: RouteDeps): void {
  const Post = withFields(plugin, postFields, PostRecord);
  const result = Type.Object({ post: Type.Union([Post, PostStub]) });
  const load = ({ actor, params }: { actor: Viewer; params: { id: string } }) => reader.findPost(params.id, actor);
  const authorize = ({ actor, target }: { actor: Viewer; target: FoundPost }) =>
    rights.canEdit(target.discussion, target.row.author_id, actor);
  const again = async (target: FoundPost, actor: Viewer) => {
    const { row } = (await reader.findPost(target.row.id, actor)) ?? target;
    const [post] = await records.posts([row], actor, rights.canModerate(actor));
    return { post: post! };
  };

  plugin.route(api, {
    method: 'get',
    path: '/posts/:id',
    can: 'public',
    summary: 'One post',
    params: IdParams,
    result,
    load,
    cacheTags: ({ target }) => cacheTagsOf(target.discussion.id),
  })(async ({ actor, target }) => {
    const [post] = await records.posts([target.row], actor, rights.canModerate(actor));
    return { post: post! };
  });

  plugin.route(api, {
    method: 'post',
    path: '/posts',
    can: writeReply,
    summary: 'Reply to a discussion',
    status: 201,
    result,
    options: { longText: true, accepted: HeldAnswer, location: ({ post }) => `/api/posts/${post.id}` },
    body: Type.Object({
      discussion_id: Type.String({ minLength: 1, maxLength: 64 }),
      content: Type.String(),
      reply_to_id: Type.Optional(
        nullable(
          Type.String({
            minLength: 1,
            maxLength: 64,
            description: 'Id or number of the post of the discussion to reply to; the first post is the same as none',
          }),
        ),
      ),
    }),
  })(async ({ actor, body: { discussion_id: discussionId, content, reply_to_id: replyTo } }) => {
    const { held, written } = await writer.sendReply(actor, { discussionId, content, replyTo: replyTo ?? undefined });
    if (held) return heldAnswer(held, environment.baseUrl);
    const [post] = await records.posts([written.row], actor, true);
    return { post: post! };
  });

  plugin.route(api, {
    method: 'put',
    path: '/posts/:id',
    can: editPost,
    summary: 'Edit a post',
    params: IdParams,
    result,
    load,
    authorize,
    options: { longText: true },
    body: Type.Object({ content: Type.String(), reason: ReasonField }),
  })(async ({ actor, target, body }) => {
    await editor.edit(target, body.content, { viewer: actor, reason: body.reason });
    return again(target, actor);
  });

  plugin.route(api, {
    method: 'delete',
    path: '/posts/:id',
    can: editPost,
    summary: 'Delete a post; deleting the first post deletes its discussion',
    params: IdParams,
    query: Type.Object({ reason: ReasonField }),
    result: Type.Object({}),
    load,
    authorize,
  })(async ({ actor, target, query: { reason } }) => {
    await editor.removePost(target, { viewer: actor, reason });
    return {};
  });

  plugin.route(api, {
    method: 'post',
    path: '/posts/:id/restore',
    can: editPost,
    summary: 'Restore a deleted post; for moderators, and for a limited time for authors who deleted it themselves',
    params: IdParams,
    result,
    load: ({ actor, params }) => reader.findRestorablePost(params.id, actor),
  })(async ({ actor, target }) => {
    await editor.restorePost(target, { viewer: actor });
    return again(target, actor);
  });

  plugin.route(api, {
    method: 'get',
    path: '/posts/:id/revisions',
    can: 'public',
    params: IdParams,
    query: Type.Object(Paging),
    result: listOf('revisions', RevisionRecord),
    summary: 'Earlier versions of a post, newest change first; for its author and moderators',
    load: async (call) => {
      const post = await load(call);
      return post && rights.canReadHistory(post.discussion, post.row.author_id, call.actor) ? post : undefined;
    },
  })(async ({ actor, target, query: { limit, ...query } }) => {
    const page = await revisions.list(target.row.id, { ...query, limit: limitOf(settings, limit) }, actor);
    return { revisions: [...page.items], ...pageFields(page) };
  });
}
