import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/** Maximum length of a subject in characters. */
export const MAX_SUBJECT = 200;

/** A conversation as seen by one of its participants. */
export const ConversationRecord = Type.Object({
  id: Type.String(),
  subject: Type.String({ description: 'Empty if the member who started it erased it with their account' }),
  participants: Type.Array(Author, {
    description: 'Current participants, including the caller but not members who have left',
  }),
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
  number: Type.Integer({ description: 'Its position in the conversation, from 1' }),
  author: nullable(Author),
  content: Type.String(),
  html: Type.String(),
  is_deleted: Type.Boolean({
    description: 'Its author removed it or erased their account; its text is empty',
  }),
  created_at: Time,
  edited_at: nullable(Time),
});
export type MessageRecord = Static<typeof MessageRecord>;

/** Access to messages for other plugins. */
export interface Messages {
  /** Undefined if the viewer is not in the conversation, regardless of their other permissions. */
  find(messageId: string, viewer: Viewer): Promise<MessageRecord | undefined>;
}
export const Messages = defineToken<Messages>('Messages');

export const messageActions = defineSlot<Pick<MessageRecord, 'id' | 'number' | 'author' | 'is_deleted'>>(
  'message.actions',
  'Below each message of a conversation: small buttons for the viewer’s actions on it.',
);

/** A message was sent. Raised in the transaction that stores it, without any of its content. */
export const messageSent = defineAction<{
  readonly message: {
    readonly id: string;
    readonly conversation_id: string;
    readonly number: number;
    readonly author_id: string;
  };
}>('message.sent');

/**
 * The unread conversations of these members changed; or one of their conversations has a message that is new, edited or
 * removed, which `message` then identifies. Raised in the transaction of the change; the members' cached responses are
 * purged before that resolves.
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
