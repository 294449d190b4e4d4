import { notFound, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api, IdParams } from 'parley-forum/plugins/api';
import { discussionFields, DiscussionRecord, moderate, type DiscussionHead } from 'parley-forum/plugins/discussions';
import type { RouteDeps } from '../discussion-routes.ts';
import { ReasonField, withFields } from '../schemas.ts';
import { destinationOf, MAX_CHOSEN } from './destination.ts';
import type { Moved } from './post-mover.ts';

/** Routes that move posts to another discussion, and merge discussions. */
export function moveRoutes({ plugin, reader, mover }: Omit<RouteDeps, 'web'>): void {
  const load = ({ actor, params }: { actor: Viewer; params: { id: string } }): Promise<DiscussionHead | undefined> =>
    reader.find(params.id, actor);
  const Id = Type.String({ minLength: 1, maxLength: 64 });
  const result = Type.Object({
    discussion: withFields(plugin, discussionFields, DiscussionRecord),
    posts: Type.Array(Type.Object({ id: Type.String(), number: Type.Integer() }), {
      description: 'Those that are not deleted, with their new numbers',
    }),
  });
  const answer = async ({ discussion: { id }, posts }: Moved, actor: Viewer) => {
    const [discussion] = await reader.recordsOf([id], actor);
    if (!discussion) throw notFound('There is no such discussion');
    return { discussion, posts: posts.map((post) => ({ id: post.id, number: post.number })) };
  };

  plugin.route(api, {
    method: 'post',
    path: '/discussions/:id/move-posts',
    can: moderate,
    summary: 'Move replies to the end of another discussion, or to a new one',
    params: IdParams,
    body: Type.Object({
      post_ids: Type.Array(Id, {
        minItems: 1,
        maxItems: MAX_CHOSEN,
        description: 'Replies of the discussion that are not deleted; they keep their ids and their order',
      }),
      discussion_id: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'Id or number of the target discussion' }),
      ),
      title: Type.Optional(Type.String({ description: 'Title of the new discussion that they start' })),
      category_id: Type.Optional(
        Type.String({ maxLength: 100, description: 'Category of the new discussion: id or slug' }),
      ),
      reason: ReasonField,
    }),
    result,
    load,
  })(async ({ actor, target, body }) => {
    const by = { viewer: actor, reason: body.reason };
    return answer(await mover.move(target, body.post_ids, destinationOf(body), by), actor);
  });

  plugin.route(api, {
    method: 'post',
    path: '/discussions/:id/merge',
    can: moderate,
    summary: 'Move all posts of a discussion to the end of another one, to which its URL redirects from then on',
    params: IdParams,
    body: Type.Object({
      into: Type.String({ minLength: 1, maxLength: 64, description: 'Id or number of the other discussion' }),
      reason: ReasonField,
    }),
    result,
    load,
  })(async ({ actor, target, body }) =>
    answer(await mover.merge(target, body.into, { viewer: actor, reason: body.reason }), actor),
  );
}
