import { createId, sql, type Clock, type Data, type SealedStore, type Secrets } from 'parley-forum';
import type { Message } from 'parley-forum/ports/mail';
import { renderEmail } from './render-email.ts';

/** An email in the form in which it is sent. */
export interface RenderedMessage extends Omit<Message, 'content' | 'key'> {
  readonly text: string;
  readonly html?: string;
}

/** Days for which keys and undelivered emails are stored. */
const RETENTION_DAYS = 30;

/**
 * Emails waiting to be sent. They contain addresses and sometimes login links, so they are stored sealed, and only until
 * they are sent.
 */
export class MessageStore implements SealedStore {
  readonly #data: Data;
  readonly #secrets: Secrets;
  readonly #clock: Clock;

  constructor({ data, secrets, clock }: { data: Data; secrets: Secrets; clock: Clock }) {
    this.#data = data;
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** Resolves to the ids of the new messages; those whose key is already known are left out. */
  async add(messages: readonly Message[]): Promise<readonly string[]> {
    const now = this.#clock.now();
    const rows = messages.map(({ key, content, ...message }) => ({
      id: createId(now),
      key,
      sealed: this.#secrets.seal(
        JSON.stringify({
          ...message,
          ...(typeof content === 'string' ? { text: content } : renderEmail(content)),
        } satisfies RenderedMessage),
      ),
    }));
    const kept = await this.#data.all(sql<{ id: string }>`insert into mail_message (id, key, sealed, created_at)
      select id, key, sealed, ${new Date(now)}
      from json_to_recordset(${JSON.stringify(rows)}::json) as m(id uuid, key text, sealed text)
      on conflict (key) do nothing returning id`);
    return kept.map(({ id }) => id);
  }

  /** Undefined once the message was sent or given up. */
  async pending(id: string): Promise<RenderedMessage | undefined> {
    const row = await this.#data.one(
      sql<{ sealed: string }>`select sealed from mail_message where id = ${id} and sealed is not null`,
    );
    return row && (JSON.parse(this.#secrets.open(row.sealed)) as RenderedMessage);
  }

  async anyPending(): Promise<boolean> {
    return (await this.#data.one(sql`select 1 from mail_message where sealed is not null limit 1`)) !== undefined;
  }

  /** Marks the message as sent, or as given up with the server's reply code. */
  async close(id: string, refusal?: number): Promise<void> {
    await this.#data.all(
      sql`update mail_message set sealed = null, refusal = ${refusal ?? null}::integer where id = ${id}`,
    );
  }

  async cleanUp(): Promise<void> {
    await this.#data.all(
      sql`delete from mail_message where created_at < ${new Date(this.#clock.now() - RETENTION_DAYS * 86_400_000)}`,
    );
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const rows = await this.#data.all(
      sql<{
        id: string;
        sealed: string;
      }>`select id, sealed from mail_message where sealed is not null order by id for update`,
    );
    const fresh = JSON.stringify(rows.map(({ id, sealed }) => ({ id, sealed: seal(sealed) })));
    await this.#data.all(
      sql`update mail_message m set sealed = f.sealed from json_to_recordset(${fresh}::json) as f(id uuid, sealed text)
        where m.id = f.id`,
    );
  }
}
