import { createId, sql, type Data } from 'parley-forum';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { ConversationImporter, ImportedConversation } from 'parley-forum/ports/conversations';

interface ImporterDeps {
  readonly data: Data;
  readonly markdown: Pick<Markdown, 'permitted'>;
}

/** Writes whole conversations, a few statements each. */
export class Importer implements ConversationImporter {
  readonly #deps: ImporterDeps;

  constructor(deps: ImporterDeps) {
    this.#deps = deps;
  }

  async importConversations(conversations: readonly ImportedConversation[]): Promise<void> {
    await this.#deps.data.transaction(async () => {
      for (const conversation of conversations) await this.#import(conversation);
    });
  }

  async #import({ subject, participants, messages }: ImportedConversation): Promise<void> {
    const { data, markdown } = this.#deps;
    const [first, last] = [messages.at(0), messages.at(-1)];
    if (!first || !last) throw new Error(`The conversation "${subject}" has no message`);
    const id = createId(first.createdAt.getTime());
    const rows = messages.map((message, at) => ({
      ...message,
      id: createId(message.createdAt.getTime()),
      number: at + 1,
    }));
    await data.all(sql`insert into conversation (id, subject, starter_id, created_at)
      values (${id}, ${subject}, ${first.authorId}, ${first.createdAt})`);
    await data.all(sql`insert into conversation_participant
        (conversation_id, user_id, last_number, last_at, read_number)
      select ${id}::uuid, g."userId", ${messages.length}::integer, ${last.createdAt}::timestamptz,
        least(coalesce(g."readNumber", ${messages.length}::integer), ${messages.length}::integer)
      from json_to_recordset(${JSON.stringify(participants)}::json) as g("userId" uuid, "readNumber" integer)
      order by g."userId"`);
    await data.all(sql`insert into conversation_message
        (id, conversation_id, number, author_id, content, html, image_rule, created_at)
      select g.id, ${id}::uuid, g.number, g."authorId", g.content, g.html, ${markdown.permitted.rule}, g."createdAt"
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as g(id uuid, number integer, "authorId" uuid, content text, html text, "createdAt" timestamptz)`);
  }
}
