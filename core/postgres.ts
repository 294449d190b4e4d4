import { MikroORM } from '@mikro-orm/postgresql';
import type { Client, CustomTypesConfig, Pool, PoolClient, QueryResult } from 'pg';
import { ORM_OPTIONS, readers, type Backend, type Connection, type OnBegin, type Orm } from './connection.ts';
import { ConfigurationError, messageOf } from './errors.ts';
import type { Logger } from './logger.ts';
import { Wire } from './wire.ts';

/** How many different statements are prepared on each connection; those beyond are sent as they are. */
const PREPARED = 500;
/** PostgreSQL's code for a prepared statement whose result changed, as after a migration. */
const STALE = '0A000';

interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
  readonly types: CustomTypesConfig;
}
type Ask = (query: Query) => Promise<QueryResult>;
/** What pg's pool has and its types leave out. */
interface Types {
  getTypeParser(oid: number, format: string): (text: string) => unknown;
  setTypeParser(oid: number, read: (text: string) => unknown): void;
}
type OpenPool = Pool & { readonly Client: new (options: object) => Client };

/** A PostgreSQL server. Throws `ConfigurationError` when it cannot be reached. `pool` is how many connections at most. */
export async function openPostgres(url: string, pool: number, log: Logger, onBegin: OnBegin): Promise<Backend> {
  const server = new PostgresBackend(url, pool, log, onBegin);
  try {
    await server.query('select 1', []);
  } catch (error) {
    await server.close();
    throw new ConfigurationError(`cannot use the database that DATABASE_URL names: ${messageOf(error)}; check the address, the name and the password`);
  }
  return server;
}

class PostgresBackend implements Backend {
  readonly embedded = false;
  readonly orm: Orm;
  readonly #pool: OpenPool;
  readonly #types: CustomTypesConfig;
  readonly #wire: Wire;
  #names = new Map<string, string>();
  #named = 0;
  #generation = 0;
  #statements = 0;

  constructor(url: string, max: number, log: Logger, onBegin: OnBegin) {
    let created: OpenPool | undefined;
    this.orm = new MikroORM({
      ...ORM_OPTIONS, entities: [], extensions: [], clientUrl: url, pool: { min: 0, max },
      logger: (message) => log.warn({}, message),
      driverOptions: {
        // Milliseconds: how long to wait for a connection, for one statement, and for a transaction that does nothing.
        connectionTimeoutMillis: 5_000, statement_timeout: 30_000, idle_in_transaction_session_timeout: 60_000,
        idleTimeoutMillis: 30_000, keepAlive: true, application_name: 'parley', options: '-c timezone=UTC',
        onPoolCreated: (pool: OpenPool) => void (created = pool),
      },
    }) as unknown as Orm;
    this.orm.em.getConnection().getClient();
    if (!created) throw new Error('the ORM made no connection pool');
    this.#pool = created;
    const defaults = this.#pool.options.types as unknown as Types;
    // As on the embedded database, entities too get numbers for bigint columns.
    defaults.setTypeParser(20, Number);
    const own = readers(defaults.getTypeParser(1009, 'text') as (text: string) => string[]);
    this.#types = { getTypeParser: (oid: number, format = 'text') => own[oid] ?? defaults.getTypeParser(oid, format) };
    this.#wire = new Wire(() => new this.#pool.Client({ ...this.#pool.options, password: this.#pool.options.password, statement_timeout: 0 }), log);
    this.#watch(onBegin);
  }

  get statements(): number {
    return this.#statements;
  }

  query<T>(text: string, values: readonly unknown[]): Promise<T[]> {
    const name = this.#name(text);
    const answer = this.#ask((query) => this.#pool.query(query), name, text, values) as Promise<T[]>;
    if (name === undefined) return answer;
    return answer.catch((error: unknown) => {
      if ((error as { code?: string }).code !== STALE) throw error;
      this.forgetStatements();
      return this.query<T>(text, values);
    });
  }

  async script(text: string): Promise<void> {
    await this.#pool.query(text);
  }

  listen(channel: string, run: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#wire.listen(channel, run);
  }

  claimAlone(): Promise<boolean> {
    return this.#wire.claimAlone();
  }

  forgetStatements(): void {
    this.#names = new Map();
    this.#named = 0;
    this.#generation++;
  }

  async close(): Promise<void> {
    await this.#wire.close();
    await this.orm.close(true);
    // The ORM ends the pool only where it has used it.
    if (!this.#pool.ending) await this.#pool.end();
  }

  /** Counts statements, and tells of each connection that the ORM takes: it takes one for a transaction. */
  #watch(onBegin: OnBegin): void {
    this.#pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...all: unknown[]) => unknown;
      client.query = ((...all: unknown[]) => {
        this.#statements++;
        return query(...all);
      }) as typeof client.query;
    });
    const connect = this.#pool.connect.bind(this.#pool) as (...all: unknown[]) => Promise<PoolClient>;
    this.#pool.connect = ((...all: unknown[]) => {
      if (all.length > 0) return connect(...all);
      return connect().then((client) => {
        giveBackWhenLost(client);
        onBegin(this.#within(client));
        return client;
      });
    }) as Pool['connect'];
  }

  #within(client: PoolClient): Connection {
    return {
      query: <T>(text: string, values: readonly unknown[]) => this.#ask((query) => client.query(query), this.#name(text), text, values) as Promise<T[]>,
      script: async (text) => void (await client.query(text)),
    };
  }

  async #ask(ask: Ask, name: string | undefined, text: string, values: readonly unknown[]): Promise<unknown[]> {
    const query = { text, values: values as unknown[], types: this.#types };
    const result = await ask(name === undefined ? query : { ...query, name });
    return result.rows;
  }

  /** A statement gets its name at its second use, so that one that is put together anew each time takes no place. */
  #name(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name) return name;
    if (this.#named >= PREPARED) return undefined;
    if (name === undefined) {
      if (this.#names.size > 4 * PREPARED) this.#names = new Map([...this.#names].filter(([, known]) => known));
      this.#names.set(text, '');
      return undefined;
    }
    const fresh = `p${this.#generation}_${++this.#named}`;
    this.#names.set(text, fresh);
    return fresh;
  }
}

/** The ORM never gives back a connection whose `begin`, `commit` or `rollback` failed: each lost one would cost the pool a place. */
function giveBackWhenLost(client: PoolClient): void {
  const release = client.release.bind(client);
  let given = false;
  const give = (destroy?: boolean | Error): void => {
    if (given) return;
    given = true;
    client.off('end', lost);
    release(destroy);
  };
  const lost = (): void => give(true);
  client.release = give;
  client.once('end', lost);
}
