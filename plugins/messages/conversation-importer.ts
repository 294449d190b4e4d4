import { createId, sql, type Cache, type Data } from 'parley-forum';
import { accountTag } from 'parley-forum/plugins/accounts';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { Conversations, ImportedConversation } from 'parley-forum/ports/imports';

interface ConversationImporterDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly markdown: Markdown;
}

/** Imports conversations from elsewhere, unchanged. */
export class ConversationImporter implements Conversations {
  readonly #deps: ConversationImporterDeps;

  constructor(deps: ConversationImporterDeps) {
    this.#deps = deps;
  }

  /** Imports either all of them or none. Nobody is notified. */
  async import(conversations: readonly ImportedConversation[]): Promise<void> {
    const { cache, data, markdown } = this.#deps;
    const rendered = await Promise.all(
      conversations.map(({ messages }) => Promise.all(messages.map(({ content }) => markdown.render(content)))),
    );
    await data.transaction(async () => {
      for (const [at, conversation] of conversations.entries()) await this.#write(conversation, rendered[at]!);
    });
    const people = conversations.flatMap(({ participants }) => participants.map(({ userId }) => userId));
    await cache.purge(...new Set(people.map(accountTag)));
  }

  async #write({ subject, participants, messages }: ImportedConversation, html: readonly string[]): Promise<void> {
    const { data, markdown } = this.#deps;
    const [first, last] = [messages[0]!, messages.at(-1)!];
    const id = createId(first.createdAt.getTime());
    await data.all(sql`insert into conversation (id, subject, starter_id, created_at)
      values (${id}, ${subject}, ${first.authorId}, ${first.createdAt})`);
    await data.all(sql`insert into conversation_message
        (id, conversation_id, number, author_id, content, html, image_rule, created_at)
      select given.id, ${id}::uuid, number, author_id, content, html, ${markdown.permitted.rule}, created_at
      from unnest(${messages.map(({ createdAt }) => createId(createdAt.getTime()))}::uuid[],
        ${messages.map(({ authorId }) => authorId)}::uuid[], ${messages.map(({ content }) => content)}::text[],
        ${html}::text[], ${messages.map(({ createdAt }) => createdAt)}::timestamptz[])
        with ordinality as given (id, author_id, content, html, created_at, number)`);
    const read = participants.map(({ readAt }) => messages.filter(({ createdAt }) => createdAt <= readAt).length);
    await data.all(sql`insert into conversation_participant
        (conversation_id, user_id, last_number, last_at, read_number)
      select ${id}::uuid, user_id, ${messages.length}::integer, ${last.createdAt}::timestamptz, read_number
      from unnest(${participants.map(({ userId }) => userId)}::uuid[], ${read}::integer[]) as given (user_id, read_number)
      order by user_id`);
  }
}
