import { HttpError, notFound, Type, type PluginHandle, type Settings } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { accountsTag } from 'parley-forum/plugins/accounts';
import { api, Id, limitOf, listOf, pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import { listCacheTags, writeReply, type DiscussionHead, type Discussions } from 'parley-forum/plugins/discussions';
import { presenceBucket } from 'parley-forum/plugins/presence';
import { Typist, typingTag } from 'parley-forum/plugins/typing';
import type { TypingService } from './typing-service.ts';

export interface RouteDeps {
  readonly typing: TypingService;
  readonly discussions: Pick<Discussions, 'find' | 'canReply'>;
  readonly settings: Settings;
}

/** /api/typing-indicator. */
export function typingRoutes(plugin: PluginHandle, { typing, discussions, settings }: RouteDeps): void {
  const options = { bucket: presenceBucket };
  const body = Type.Object({ discussion_id: Id });
  const find = async (id: string, viewer: Viewer): Promise<DiscussionHead> => {
    const head = await discussions.find(id, viewer);
    if (!head) throw notFound('There is no such discussion');
    return head;
  };

  plugin.route(api, {
    method: 'post',
    path: '/typing-indicator/typing',
    can: writeReply,
    options,
    body,
    result: Type.Object({}),
    summary: 'Signals that the caller is writing a reply; expires after 8 s',
  })(async ({ actor, body: { discussion_id } }) => {
    const head = await find(discussion_id, actor);
    if (!discussions.canReply(head, actor)) throw new HttpError(403, 'You may not reply to this discussion');
    await typing.start(head.id, actor.id);
    return {};
  });

  plugin.route(api, {
    method: 'post',
    path: '/typing-indicator/stop',
    can: writeReply,
    options,
    body,
    result: Type.Object({}),
    summary: 'Signals that the caller has stopped writing',
  })(async ({ actor, body: { discussion_id } }) => {
    const head = await find(discussion_id, actor);
    await typing.stop(head.id, actor.id);
    return {};
  });

  plugin.route(api, {
    method: 'get',
    path: '/typing-indicator/status',
    can: 'public',
    options: { ...options, idle: true },
    summary: 'Who is writing in a discussion, by id',
    query: Type.Object({ discussion_id: Id, ...Paging }),
    result: listOf('typing', Typist),
    cacheTags: () => (typing.freshUntil() === undefined ? undefined : [typingTag, accountsTag, ...listCacheTags]),
  })(async (call) => {
    const { actor, query } = call;
    const { discussion_id, limit, offset, cursor } = query;
    const head = await find(discussion_id, actor);
    const page = pageOf(await typing.typists(head.id), { limit: limitOf(settings, limit), offset, cursor });
    call.expiresAt = typing.freshUntil() ?? 0;
    return { typing: [...page.items], ...pageFields(page) };
  });
}
