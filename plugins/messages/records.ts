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

/** Characters of a message that are shown of it. */
const EXCERPT = 160;

export const pathOf = (conversationId: string): string => `/messages/${conversationId}`;

/** Conversations as those in them see them, in order. One statement at most. */
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

/** Messages, in order, with those pictures that may be shown today. One statement at most. */
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
    // Nobody sends one without a text.
    is_deleted: content === '',
    created_at: createdAt.toISOString(),
    edited_at: editedAt && content !== '' ? editedAt.toISOString() : null,
  }));
}
