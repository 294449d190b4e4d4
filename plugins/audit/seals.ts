import { createHmac, randomBytes } from 'node:crypto';
import { sql, type Data, type SealedStore, type Secrets } from 'parley-forum';

/** An entry as it is stored, before it has a seal. */
export interface Unsealed {
  readonly id: string;
  readonly action: string;
  readonly actor: string | null;
  readonly subjectType: string | null;
  readonly subjectId: string | null;
  readonly address: string | null;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly createdAt: Date;
}

/** What stands before the first entry of all. */
export const BEGINNING = '';

/**
 * Seals entries with a key that the database holds only sealed: access to the database is not enough to make a seal.
 */
export class Seals implements SealedStore {
  readonly #data: Data;
  readonly #secrets: Secrets;

  constructor({ data, secrets }: { readonly data: Data; readonly secrets: Secrets }) {
    this.#data = data;
    this.#secrets = secrets;
  }

  /** Seals of one key, for as long as the caller's work takes. The key is made where there is none yet. */
  async open(): Promise<(entry: Unsealed, previous: string) => string> {
    const key = Buffer.from(this.#secrets.open((await this.#sealedKey()) ?? (await this.#createKey())), 'base64');
    return (entry, previous) =>
      createHmac('sha256', key)
        .update(JSON.stringify([previous, ...fieldsOf(entry)]))
        .digest('base64url');
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const sealedKey = await this.#sealedKey();
    if (sealedKey !== undefined) await this.#data.all(sql`update audit_key set sealed = ${seal(sealedKey)}`);
  }

  async #sealedKey(): Promise<string | undefined> {
    return (await this.#data.one(sql<{ sealed: string }>`select sealed from audit_key`))?.sealed;
  }

  /** Of processes that make one at the same time, all get the first. */
  async #createKey(): Promise<string> {
    await this.#data.all(
      sql`insert into audit_key (sealed) values (${this.#secrets.seal(randomBytes(32).toString('base64'))})
        on conflict do nothing`,
    );
    return (await this.#sealedKey())!;
  }
}

/** In an order of their own: the database gives an object's keys back in another one. */
function fieldsOf({
  id,
  action,
  actor,
  subjectType,
  subjectId,
  address,
  details,
  createdAt,
}: Unsealed): readonly unknown[] {
  const facts = Object.entries(details).sort(([a], [b]) => (a < b ? -1 : 1));
  return [id, action, actor, subjectType, subjectId, address, facts, createdAt.toISOString()];
}
