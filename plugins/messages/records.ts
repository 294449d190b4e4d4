import type { Environment } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { ConversationRecord, MessageRecord } from 'parley-forum/plugins/messages';
import type { Conversation, Message } from './conversation-store.ts';

export interface RecordsDeps {
  readonly environment: Environment;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly markdown: Pick<Markdown, 'excerpt' | 'permitted'>;
}

/** Characters in the excerpt of a message. */
const EXCERPT = 160;

export const pathOf = (conversationId: string): string => `/messages/${conversationId}`;

/** Records of conversations, in order, as their participants see them. At most one statement. */
export async function conversationRecords(
  { environment, accounts, markdown }: RecordsDeps,
  conversations: readonly Conversation[],
): Promise<readonly ConversationRecord[]> {
  const people = conversations.flatMap(({ participantIds, lastAuthorId }) => [...participantIds, lastAuthorId]);
  const authors = await accounts.authors([...new Set(people.filter((id) => id !== null))]);
  return conversations.map((conversation) => ({
    id: conversation.id,
    subject: conversation.subject,
    participants: conversation.participantIds.flatMap((id) => authors.get(id) ?? []),
    message_count: conversation.lastNumber,
    unread_count: conversation.lastNumber - conversation.readNumber,
    is_muted: conversation.isMuted,
    last_message: {
      author: authors.get(conversation.lastAuthorId ?? '') ?? null,
      excerpt: markdown.excerpt(conversation.lastContent, EXCERPT),
      is_deleted: conversation.lastContent === '',
      created_at: conversation.lastAt.toISOString(),
    },
    created_at: conversation.createdAt.toISOString(),
    url: environment.baseUrl + pathOf(conversation.id),
  }));
}

/** Records of messages, in order, with only those pictures that the current rules allow. At most one statement. */
export async function messageRecords(
  { accounts, markdown: { permitted } }: RecordsDeps,
  messages: readonly Message[],
): Promise<readonly MessageRecord[]> {
  const authors = await accounts.authors([...new Set(messages.map(({ authorId }) => authorId))]);
  return messages.map(({ id, conversationId, number, authorId, content, html, imageRule, createdAt, editedAt }) => ({
    id,
    conversation_id: conversationId,
    number,
    author: authors.get(authorId) ?? null,
    content,
    html: imageRule === permitted.rule ? html : permitted.images(html),
    // Messages cannot be sent without text, so an empty one was removed.
    is_deleted: content === '',
    created_at: createdAt.toISOString(),
    edited_at: editedAt && content !== '' ? editedAt.toISOString() : null,
  }));
}
