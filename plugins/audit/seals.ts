import { createHmac, randomBytes } from 'node:crypto';
import { sql, type Data, type SealedStore, type Secrets } from 'parley-forum';

/** An entry as it is stored, without its seal. */
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

/** The seal that precedes the very first entry. */
export const BEGINNING = '';

/** Seals entries with a key that is stored encrypted: access to the database is not enough to make a seal. */
export class Seals implements SealedStore {
  readonly #data: Data;
  readonly #secrets: Secrets;

  constructor({ data, secrets }: { readonly data: Data; readonly secrets: Secrets }) {
    this.#data = data;
    this.#secrets = secrets;
  }

  /** Returns a function that seals entries with the key, which is created if there is none yet. */
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

  /** If several processes create a key at the same time, all of them use the first. */
  async #createKey(): Promise<string> {
    await this.#data.all(
      sql`insert into audit_key (sealed) values (${this.#secrets.seal(randomBytes(32).toString('base64'))})
        on conflict do nothing`,
    );
    return (await this.#sealedKey())!;
  }
}

/** Lists the fields in a fixed order, because the database returns the keys of an object in a different one. */
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
