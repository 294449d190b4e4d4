import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/** Characters of a subject. */
export const MAX_SUBJECT = 200;

/** A conversation as one of those in it sees it. */
export const ConversationRecord = Type.Object({
  id: Type.String(),
  subject: Type.String({ description: 'Empty where who began it has erased it with their account' }),
  participants: Type.Array(Author, { description: 'Who is in it now, the caller too; whoever has left is not' }),
  message_count: Type.Integer(),
  unread_count: Type.Integer({ description: 'Messages that the caller has not read' }),
  is_muted: Type.Boolean({ description: 'The caller is not notified of it' }),
  last_message: Type.Object({
    author: nullable(Author),
    excerpt: Type.String(),
    is_deleted: Type.Boolean(),
    created_at: Time,
  }),
  created_at: Time,
  url: Type.String(),
});
export type ConversationRecord = Static<typeof ConversationRecord>;

/** A message of a conversation. */
export const MessageRecord = Type.Object({
  id: Type.String(),
  conversation_id: Type.String(),
  number: Type.Integer({ description: 'Its place in the conversation, from 1' }),
  author: nullable(Author),
  content: Type.String(),
  html: Type.String(),
  is_deleted: Type.Boolean({
    description: 'Who wrote it has removed it, or erased their account; it has no text any more',
  }),
  created_at: Time,
  edited_at: nullable(Time),
});
export type MessageRecord = Static<typeof MessageRecord>;

/** Messages for what other plugins do with one. */
export interface Messages {
  /** Undefined for whoever is not in its conversation, whatever they may do elsewhere. */
  find(messageId: string, viewer: Viewer): Promise<MessageRecord | undefined>;
}
export const Messages = defineToken<Messages>('Messages');

export const messageActions = defineSlot<Pick<MessageRecord, 'id' | 'number' | 'author' | 'is_deleted'>>(
  'message.actions',
  'Below each message of a conversation: small buttons for what its reader can do with it.',
);

/** A message is stored. Raised in the transaction that stores it, never with a word of it. */
export const messageSent = defineAction<{
  readonly message: {
    readonly id: string;
    readonly conversation_id: string;
    readonly number: number;
    readonly author_id: string;
  };
}>('message.sent');

/**
 * These members have other unread conversations, or in one a message that is new, edited or removed: then it says which.
 * Raised in the transaction that changed them; the members' cached answers are purged before that resolves.
 */
export const conversationsChanged = defineAction<{
  readonly userIds: readonly string[];
  readonly message?:
    | { readonly conversation_id: string; readonly number: number; readonly is_new: boolean }
    | undefined;
}>('messages.changed');

export const sendMessages = definePermission('messages.send', {
  label: 'write private messages',
  default: 'member',
});
