import { MikroORM } from '@mikro-orm/postgresql';
import type { Client, Pool } from 'pg';
import { ORM_OPTIONS, READERS } from './readers.ts';
import { ConfigurationError, messageOf } from '../../errors.ts';
import type { Backend } from '../../data.ts';
import type { Logger } from '../../logger.ts';

/** How many different statements are prepared on each connection; those beyond are sent as they are. */
const PREPARED = 500;
/** PostgreSQL's code for a prepared statement whose result changed, as after another process's migration. */
const STALE = '0A000';
/** The advisory lock of a process that must be alone on its database; the number has no meaning. */
const ALONE = 7_216_001;
/** Milliseconds between attempts to take that lock again from a server that went away. */
const AGAIN = 1_000;
const TAKEN = 'another process took this database while it was away; stop one of the two, or set REDIS_URL for both';

/** What pg's pool has and its types leave out. */
interface OpenPool extends Omit<Pool, 'options'> {
  readonly Client: new (options: object) => Client;
  readonly options: { readonly types: { setTypeParser(type: number, read: (text: string) => unknown): void } };
}
type Done = (error: unknown, result?: unknown) => void;
type Ask = (query: string | { readonly name: string; readonly text: string }, values: readonly unknown[], done?: Done) => Promise<unknown>;

/** A PostgreSQL server. Throws `ConfigurationError` when it cannot be reached. `max` is how many connections at most. */
export async function openPostgres(url: string, max: number, log: Logger): Promise<Backend> {
  let pool: OpenPool | undefined;
  const orm = new MikroORM({
    ...ORM_OPTIONS, clientUrl: url, pool: { min: 0, max }, logger: (message) => log.warn({}, message),
    driverOptions: {
      // Milliseconds: how long to wait for a connection, for one statement, and for a transaction that does nothing.
      connectionTimeoutMillis: 5_000, statement_timeout: 30_000, idle_in_transaction_session_timeout: 60_000,
      idleTimeoutMillis: 30_000, keepAlive: true, application_name: 'parley', options: '-c timezone=UTC',
      onPoolCreated: (created: OpenPool) => void (pool = created),
    },
  });
  const client = orm.em.getConnection().getClient();
  if (!pool) throw new Error('the ORM made no connection pool');
  const open = pool;
  const { Client, options } = open;
  for (const [type, read] of Object.entries(READERS)) options.types.setTypeParser(Number(type), read);
  const usage = { statements: 0 };
  /** Under its name each connection prepares a statement once. No name is given twice. */
  const names = new Map<string, string>();
  let named = 0;
  const nameOf = (text: string): string | undefined => {
    if (!names.has(text) && names.size < PREPARED) names.set(text, `p${++named}`);
    return names.get(text);
  };
  open.on('connect', (connection) => {
    const ask = connection.query.bind(connection) as Ask;
    connection.query = ((text: string, values: readonly unknown[] = [], done?: Done) => {
      usage.statements++;
      // Without values it may be several statements, which cannot be prepared.
      const name = values.length > 0 ? nameOf(text) : undefined;
      if (name === undefined) return ask(text, values, done);
      const answer = ask({ name, text }, values).catch((error: unknown) => {
        if ((error as { code?: string }).code !== STALE) throw error;
        names.clear();
        // Inside a transaction, which is lost, this fails too.
        return ask(text, values).catch(() => Promise.reject(error));
      });
      return done ? answer.then((result) => done(undefined, result), done) : answer;
    }) as typeof connection.query;
  });
  const alone = keepAlone(() => new Client(options), log);
  const close = (): Promise<void> => alone.release().then(() => orm.close(true));
  try {
    await client.connection().execute(() => Promise.resolve());
  } catch (error) {
    await close();
    throw new ConfigurationError(`cannot use the database that DATABASE_URL names: ${messageOf(error)}; check the address, the name and the password`);
  }
  const query: Backend['query'] = (text, values) => open.query(text, [...values]);
  return { embedded: false, orm, usage, query, claimAlone: alone.claim, forgetStatements: () => names.clear(), close };
}

/** The lock of `claimAlone`, held by a connection outside the pool. It is taken again when the server was away. */
function keepAlone(connect: () => Client, log: Logger): { claim(): Promise<boolean>; release(): Promise<void> } {
  let holder: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  const claim = async (): Promise<boolean> => {
    if (holder) return true;
    const client = connect();
    // A lost connection ends, too.
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${ALONE}) as held`);
    if (!rows[0]?.held) return client.end().then(() => false);
    holder = client.once('end', lost);
    return true;
  };
  const lost = (): void => {
    holder = undefined;
    timer = setTimeout(() => void claim().then((held) => held || log.error({}, TAKEN), lost), AGAIN).unref();
  };
  const release = async (): Promise<void> => {
    clearTimeout(timer);
    await holder?.off('end', lost).end();
  };
  return { claim, release };
}
