import { Type, type PluginHandle, type Settings } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  api,
  badCursor,
  decodeCursor,
  encodeCursor,
  IdParams,
  limitOf,
  listOf,
  pageFields,
  Paging,
} from 'parley-forum/plugins/api';
import { ConversationRecord, MessageRecord, sendMessages } from 'parley-forum/plugins/messages';
import type { ConversationService } from './conversation-service.ts';
import type { Conversation, ConversationStore, Message } from './conversation-store.ts';
import { conversationRecords, messageRecords, type RecordsDeps } from './records.ts';

export interface RouteDeps extends RecordsDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly conversations: ConversationService;
  readonly store: ConversationStore;
}
type Order = 'asc' | 'desc';

/** Maximum number of names in one request, regardless of the setting. */
const MOST_NAMES = 100;
export const Content = Type.String({ description: 'Markdown' });

/** A cursor is only valid for the order it was made for. */
function positionOf(cursor: string, order: Order): number {
  const [of, number] = decodeCursor(cursor, 2);
  if (of !== order || !Number.isInteger(number) || Math.abs(Number(number)) > 2 ** 31 - 1) throw badCursor();
  return Number(number);
}

/** The routes under /api/conversations, for the caller's own conversations. */
export function conversationRoutes({ plugin, settings, conversations, store, ...deps }: RouteDeps): void {
  const load = ({ actor, params }: { actor: Viewer; params: { id: string } }) => conversations.find(params.id, actor);
  const conversationOf = async (conversation: Conversation): Promise<ConversationRecord> =>
    (await conversationRecords(deps, [conversation]))[0]!;
  const messageOf = async (message: Message): Promise<MessageRecord> => (await messageRecords(deps, [message]))[0]!;
  const one = { can: 'member', params: IdParams, load } as const;

  plugin.route(api, {
    method: 'get',
    path: '/conversations',
    can: 'member',
    summary: 'The caller’s private conversations, those with the newest messages first',
    query: Type.Object({
      ...Paging,
      unread: Type.Optional(Type.Boolean({ description: 'Only those with unread messages' })),
    }),
    result: listOf('conversations', ConversationRecord),
  })(async ({ actor, query: { limit, offset, cursor, unread } }) => {
    const page = await conversations.list(actor, { limit: limitOf(settings, limit), offset, cursor, unread });
    return { conversations: [...(await conversationRecords(deps, page.items))], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/conversations/count',
    can: 'member',
    summary: 'Number of conversations with messages that the caller has not read, without muted ones',
    result: Type.Object({ count: Type.Integer() }),
  })(async ({ actor }) => ({ count: await conversations.unread(actor) }));

  plugin.route(api, {
    method: 'post',
    path: '/conversations',
    status: 201,
    can: sendMessages,
    options: { longText: true, location: ({ conversation }) => `/api/conversations/${conversation.id}` },
    summary: 'Start a private conversation',
    body: Type.Object({
      to: Type.Array(Type.String({ maxLength: 100 }), {
        minItems: 1,
        maxItems: MOST_NAMES,
        description: 'Usernames of the other participants',
      }),
      subject: Type.String(),
      content: Content,
    }),
    result: Type.Object({ conversation: ConversationRecord, message: MessageRecord }),
  })(async ({ actor, body }) => {
    const message = await conversations.start(actor, body);
    const conversation = await conversations.find(message.conversationId, actor);
    return { conversation: await conversationOf(conversation!), message: await messageOf(message) };
  });

  plugin.route(api, {
    ...one,
    method: 'get',
    path: '/conversations/:id',
    summary: 'One of the caller’s private conversations',
    result: Type.Object({ conversation: ConversationRecord }),
  })(async ({ target }) => ({ conversation: await conversationOf(target) }));

  plugin.route(api, {
    ...one,
    method: 'put',
    path: '/conversations/:id',
    summary: 'Mute or unmute a conversation for the caller',
    body: Type.Object({ is_muted: Type.Boolean() }),
    result: Type.Object({ conversation: ConversationRecord }),
  })(async ({ actor, target, body: { is_muted: isMuted } }) => {
    await conversations.mute(target, actor, isMuted);
    return { conversation: await conversationOf({ ...target, isMuted }) };
  });

  plugin.route(api, {
    ...one,
    method: 'delete',
    path: '/conversations/:id',
    summary: 'Leave a conversation permanently; when the last participant leaves, it is deleted',
    result: Type.Object({}),
  })(async ({ actor, target }) => {
    await conversations.leave(target, actor);
    return {};
  });

  plugin.route(api, {
    ...one,
    method: 'get',
    path: '/conversations/:id/messages',
    summary: 'Messages of a conversation, oldest first; does not mark them as read',
    query: Type.Object({
      ...Paging,
      order: Type.Optional(Type.Enum(['asc', 'desc'], { description: '`desc`: newest first' })),
    }),
    result: listOf('messages', MessageRecord),
  })(async ({ target, query: { limit, offset, cursor, order = 'asc' } }) => {
    const beyond = cursor === undefined ? undefined : positionOf(cursor, order);
    const request = { order, limit: limitOf(settings, limit), offset, beyond };
    const { items, hasMore } = await store.messages(target.id, request);
    const nextCursor = hasMore ? encodeCursor([order, items.at(-1)!.number]) : undefined;
    return { messages: [...(await messageRecords(deps, items))], ...pageFields({ items, hasMore, nextCursor }) };
  });

  plugin.route(api, {
    ...one,
    method: 'post',
    path: '/conversations/:id/messages',
    status: 201,
    can: sendMessages,
    options: { longText: true, location: ({ message }) => `/api/messages/${message.id}` },
    summary: 'Send a message to a conversation',
    body: Type.Object({ content: Content }),
    result: Type.Object({ message: MessageRecord }),
  })(async ({ actor, target, body: { content } }) => ({
    message: await messageOf(await conversations.reply(actor, target, content)),
  }));

  plugin.route(api, {
    ...one,
    method: 'post',
    path: '/conversations/:id/read',
    summary: 'Mark the messages of a conversation as read: all, or those up to a number',
    body: Type.Object({ number: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })) }),
    result: Type.Object({
      count: Type.Integer({ description: 'Number of the caller’s unread conversations afterwards' }),
    }),
  })(async ({ actor, target, body: { number = target.lastNumber } }) => {
    await conversations.read(target, actor, number);
    return { count: await conversations.unread(actor) };
  });
}
