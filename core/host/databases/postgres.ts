import { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { Pipeline, type PipelinePool } from './pipeline.ts';
import { TransactionEnds } from './transaction-ends.ts';
import { ORM_OPTIONS, TYPE_PARSERS } from './type-parsers.ts';
import { inTime, Watchdog, type Connection, type ConnectionPool } from './watchdog.ts';
import { sendingStatement } from '../../diagnostics.ts';
import { ConfigurationError, messageOf } from '../../errors.ts';
import { PLANNED_EACH_TIME, type DatabaseDriver } from '../../data/database.ts';
import type { Logger } from '../../logger.ts';

/** Maximum number of statements prepared per connection; any others are sent unprepared. */
const PREPARED = 500;
/** Number of executions before a statement is prepared: one with a number in its text may never be repeated. */
const OFTEN = 3;
/**
 * Characters above which a statement is not prepared: its text grows with the number of rows it was given, so it is
 * unlikely to be repeated.
 */
const LONGEST = 8_000;
/** SQLSTATE for a prepared statement whose result type changed, for example through another process's migration. */
const STALE = '0A000';
/** Key of the advisory lock of a process that must be alone on its database; the number has no meaning. */
const ALONE = 7_216_001;
/** Milliseconds between attempts to take that lock again after the connection to the server was lost. */
const AGAIN = 1_000;
/**
 * Settings of each session. Keepalives let the server detect dead connections as this process does: locks held by a
 * machine that vanished are released after 20 s.
 */
const SESSION = '-c timezone=UTC -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=10';
const TAKEN =
  'another process claimed this database while it was unreachable; stop one of the two, or set REDIS_URL for both';

/** Properties of pg's pool that its type definitions omit. */
interface OpenPool extends Omit<Pool, 'options' | 'on' | 'connect'>, ConnectionPool {
  readonly Client: new (options: object) => Connection;
  on(event: 'connect', run: (connection: Connection) => void): void;
  readonly options: { readonly types: { setTypeParser(type: number, read: (text: string) => unknown): void } };
}
type Done = (error: unknown, result?: unknown) => void;
type Ask = (
  query: string | { readonly name: string; readonly text: string },
  values: readonly unknown[],
  done?: Done,
) => Promise<unknown>;

/**
 * Connects to a PostgreSQL server with at most `max` connections. Throws `ConfigurationError` if it cannot be reached.
 */
export async function openPostgres(url: string, max: number, log: Logger): Promise<DatabaseDriver> {
  let pool: OpenPool | undefined;
  const orm = new MikroORM({
    ...ORM_OPTIONS,
    clientUrl: url,
    pool: { min: 0, max },
    logger: (message) => log.warn({}, message),
    driverOptions: {
      // Milliseconds: timeouts for getting a connection, for a statement, and for an idle transaction.
      connectionTimeoutMillis: 5_000,
      statement_timeout: 30_000,
      idle_in_transaction_session_timeout: 60_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      pipeline: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'parley',
      options: SESSION,
      onPoolCreated: (created: OpenPool) => void (pool = created),
    },
  });
  const client = orm.em.getConnection().getClient();
  if (!pool) throw new Error('the ORM created no connection pool');
  const open = pool;
  const { Client, options } = open;
  for (const [type, read] of Object.entries(TYPE_PARSERS)) options.types.setTypeParser(Number(type), read);
  const usage = { statements: 0 };
  /**
   * Names of prepared statements by text; each connection prepares a statement once per name. Names are never reused.
   */
  const names = new Map<string, string>();
  let named = 0;
  /** How often recent statements without a name were executed. */
  const sent = new LRUCache<string, number>({ max: PREPARED });
  const nameOf = (text: string): string | undefined => {
    const name = names.get(text);
    if (name !== undefined || names.size === PREPARED || text.length > LONGEST || text.includes(PLANNED_EACH_TIME))
      return name;
    const times = (sent.get(text) ?? 0) + 1;
    sent.set(text, times);
    if (times >= OFTEN) names.set(text, `p${++named}`);
    return names.get(text);
  };
  const transactions = new TransactionEnds();
  const connect = (): Connection => new Client(options);
  const watchdog = new Watchdog(connect, log);
  watchdog.guard(open);
  open.on('connect', (connection) => {
    const send = connection.query.bind(connection) as Ask;
    const asked = watchdog.watch(connection);
    const ask: Ask = (...words) => {
      asked();
      return send(...words);
    };
    const run = (text: string, values: readonly unknown[], last: boolean, done?: Done): Promise<unknown> => {
      // Without values the text may hold several statements, which cannot be prepared; reads are always sent one at a
      // time.
      const name = values.length > 0 || text.startsWith('select ') ? nameOf(text) : undefined;
      if (name === undefined) return ask(text, values, done);
      const answer = ask({ name, text }, values).catch((error: unknown) => {
        if ((error as { code?: string }).code !== STALE) throw error;
        names.clear();
        // Run behind the commit, the statement would take effect although its transaction was lost. Inside the
        // transaction the retry fails as well.
        if (last) throw error;
        return ask(text, values).catch(() => Promise.reject(error));
      });
      return done ? answer.then((result) => done(undefined, result), done) : answer;
    };
    const inTransaction = transactions.watch(connection, ask);
    connection.query = ((text: string, values: readonly unknown[] = [], done?: Done) => {
      usage.statements++;
      const ended = sendingStatement();
      const send = (whenDone = done): Promise<unknown> =>
        inTransaction(text, (last) => run(text, values, last, whenDone));
      if (!ended) return send();
      if (!done) return send().finally(ended);
      return send((...outcome) => {
        ended();
        done(...outcome);
      });
    }) as typeof connection.query;
  });
  const alone = keepAlone(connect, log);
  const close = (): Promise<void> =>
    alone
      .release()
      .then(() => orm.close(true))
      .finally(() => watchdog.close());
  try {
    await client.connection().execute(() => Promise.resolve());
  } catch (error) {
    await close();
    const remedy = 'check the address, the name and the password';
    throw new ConfigurationError(`cannot use the database in DATABASE_URL: ${messageOf(error)}; ${remedy}`, {
      cause: error,
    });
  }
  const pipeline = new Pipeline(open as PipelinePool);
  return {
    embedded: false,
    orm,
    usage,
    query: (text, values) => pipeline.query(text, values),
    thenCommit: (statement) => transactions.thenCommit(statement),
    claimAlone: alone.claim,
    migrated: () => Promise.resolve(names.clear()),
    close,
  };
}

/** Holds the lock of `claimAlone` on a connection outside the pool, and takes it again after the server was away. */
function keepAlone(connect: () => Connection, log: Logger): { claim(): Promise<boolean>; release(): Promise<void> } {
  let holder: Connection | undefined;
  let timer: NodeJS.Timeout | undefined;
  const claim = async (): Promise<boolean> => {
    if (holder) return true;
    const client = connect();
    // A lost connection also emits `end`, which is handled below.
    client.on('error', () => undefined);
    const held = await inTime(client, async () => {
      await client.connect();
      const {
        rows: [row],
      } = await client.query(`select pg_try_advisory_lock(${ALONE}) as held`);
      const { held } = row as { readonly held: boolean };
      if (!held) await client.end();
      return held;
    });
    if (held) holder = client.once('end', lost);
    return held;
  };
  const lost = (): void => {
    holder = undefined;
    timer = setTimeout(() => void claim().then((held) => held || log.error({}, TAKEN), lost), AGAIN).unref();
  };
  const release = async (): Promise<void> => {
    clearTimeout(timer);
    const leaving = holder?.off('end', lost);
    if (leaving) await inTime(leaving, () => leaving.end());
  };
  return { claim, release };
}
