import { sql, type Data, type Secrets } from 'parley-forum';

/** The keys with which push services recognise the forum (VAPID), in base64url. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}
interface Row {
  readonly publicKey: string;
  /** Sealed. */
  readonly privateKey: string;
}
interface KeysDeps {
  readonly data: Data;
  readonly secrets: Secrets;
}

/** Stores one pair of keys for the forum; browsers accept messages only with the pair they subscribed to. */
export class VapidKeyStore {
  readonly #deps: KeysDeps;
  #known: Promise<VapidKeys> | undefined;

  constructor(deps: KeysDeps) {
    this.#deps = deps;
  }

  /** Read once; the first process that needs the keys generates them. */
  keys(): Promise<VapidKeys> {
    this.#known ??= this.#load().catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    return this.#known;
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const row = await this.#stored();
    if (row) await this.#deps.data.all(sql`update push_key set private_key = ${seal(row.privateKey)}`);
  }

  async #load(): Promise<VapidKeys> {
    const { data, secrets } = this.#deps;
    let row = await this.#stored();
    if (!row) {
      const { default: webPush } = await import('web-push');
      const { publicKey, privateKey } = webPush.generateVAPIDKeys();
      await data.all(sql`insert into push_key (id, public_key, private_key)
        values (1, ${publicKey}, ${secrets.seal(privateKey)}) on conflict do nothing`);
      row = (await this.#stored())!;
    }
    return { publicKey: row.publicKey, privateKey: secrets.open(row.privateKey) };
  }

  #stored(): Promise<Row | undefined> {
    return this.#deps.data.one(
      sql<Row>`select public_key as "publicKey", private_key as "privateKey" from push_key where id = 1`,
    );
  }
}
