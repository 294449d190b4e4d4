import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, repeatInBatches, type PersonalData } from 'parley-forum/ports/personal-data';
import type { ConversationStore } from './conversation-store.ts';

interface OwnConversation {
  readonly id: string;
  readonly subject: string;
  readonly message_count: number;
  readonly is_muted: boolean;
  readonly created_at: Date;
}
interface OwnMessage {
  readonly id: string;
  readonly conversation_id: string;
  readonly number: number;
  readonly content: string;
  readonly created_at: Date;
  readonly edited_at: Date | null;
}

/**
 * The conversations that a member is in, and the messages they wrote. A member whose data is erased leaves all
 * conversations. What they wrote stays for the other participants or is emptied, along with the subjects of
 * conversations they started.
 */
export const messagesPersonalData = (data: Data, store: ConversationStore): PersonalData => ({
  name: 'private messages',
  async *entries(accountId) {
    const conversations = readInBatches<OwnConversation>((after, limit) =>
      data.all(sql<OwnConversation>`
        select c.id, c.subject, p.last_number as message_count, p.is_muted, c.created_at
        from conversation_participant p join conversation c on c.id = p.conversation_id
        where p.user_id = ${accountId} and c.id > ${after?.id ?? ZERO_ID} order by c.id limit ${limit}`),
    );
    yield { path: 'conversations.json', content: jsonList(conversations) };
    const messages = readInBatches<OwnMessage>((after, limit) =>
      data.all(sql<OwnMessage>`select id, conversation_id, number, content, created_at, edited_at
        from conversation_message where author_id = ${accountId} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'messages.json', content: jsonList(messages) };
  },
  async erase(accountId, mode, signal) {
    await data.all(sql`delete from message_choice where user_id = ${accountId}`);
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql<{ id: string }>`select conversation_id as id from conversation_participant
        where user_id = ${accountId} order by conversation_id limit ${limit}`);
      for (const { id } of rows)
        await data.transaction(async () => {
          if (await store.lock(id)) await store.leave(id, accountId);
        });
      return rows.length;
    });
    if (mode !== 'remove') return;
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql`update conversation_message set content = '', html = '' where id in (
        select id from conversation_message where author_id = ${accountId} and content <> '' order by id limit ${limit})
        returning id`);
      return rows.length;
    });
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql`update conversation set subject = '' where id in (
        select id from conversation where starter_id = ${accountId} and subject <> '' order by id limit ${limit})
        returning id`);
      return rows.length;
    });
  },
});
