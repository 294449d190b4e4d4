import { notFound, Type, type Environment, type PluginHandle, type Settings } from 'parley-forum';
import { api, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { HeldPostRecord, QueuedPostRecord, reviewPosts } from 'parley-forum/plugins/approval';
import type { HeldPosts } from './held-posts.ts';
import type { Reviewer } from './reviewer.ts';

export interface RoutesDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly posts: HeldPosts;
  readonly reviewer: Reviewer;
}
/** A moderator's message to the author of a rejected post. */
export const ReviewReason = Type.String({ maxLength: 500, description: 'For the author' });

/** /api/held-posts for authors, /api/approval for moderators. */
export function approvalRoutes({ plugin, settings, environment, posts, reviewer }: RoutesDeps): void {
  plugin.route(api, {
    method: 'get',
    path: '/held-posts',
    can: 'member',
    summary: 'Posts of the caller that are waiting for approval or were rejected, newest first',
    query: Type.Object(Paging),
    result: listOf('held_posts', HeldPostRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await posts.own(actor.id, { ...query, limit: limitOf(settings, limit) });
    return { held_posts: page.items.map((row) => posts.ownRecord(row)), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'delete',
    path: '/held-posts/:id',
    can: 'member',
    summary: 'Withdraw one of the caller’s held posts, or remove one that was rejected',
    params: IdParams,
    result: Type.Object({}),
    load: ({ actor, params }) => posts.findOwn(params.id, actor.id),
  })(async ({ actor, target }) => {
    if (!(await posts.withdraw(target.id, actor.id))) throw notFound('There is no such held post');
    return {};
  });

  plugin.route(api, {
    method: 'get',
    path: '/approval',
    can: reviewPosts,
    summary: 'Posts waiting for approval, oldest first',
    query: Type.Object(Paging),
    result: listOf('held_posts', QueuedPostRecord),
  })(async ({ actor, query: { limit, ...query } }) => {
    const page = await posts.queue({ ...query, limit: limitOf(settings, limit) }, actor);
    return { held_posts: [...(await posts.queueRecords(page.items, actor))], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'post',
    path: '/approval/:id/approve',
    can: reviewPosts,
    summary: 'Publish a held post as its author',
    params: IdParams,
    result: Type.Object({ discussion_id: Type.String(), post_id: Type.String(), url: Type.String() }),
    load: ({ actor, params }) => posts.find(params.id, actor),
  })(async ({ actor, target }) => {
    const { discussionId, postId, path } = await reviewer.approve(target.id, actor);
    return { discussion_id: discussionId, post_id: postId, url: environment.baseUrl + path };
  });

  plugin.route(api, {
    method: 'post',
    path: '/approval/:id/reject',
    can: reviewPosts,
    summary: 'Reject a held post; its author is notified of the reason and keeps the text for 30 days',
    params: IdParams,
    body: Type.Object({ reason: Type.Optional(ReviewReason) }),
    result: Type.Object({}),
    load: ({ actor, params }) => posts.find(params.id, actor),
  })(async ({ actor, target, body: { reason = '' } }) => {
    await reviewer.reject(target.id, reason, actor);
    return {};
  });
}
