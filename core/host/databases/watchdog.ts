import type { EventEmitter } from 'node:events';
import { chainOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';

/** Milliseconds after which the server is asked whether it is there at all, and within which it must answer that. */
const CONNECTION_TIMEOUT = 5_000;
/** Milliseconds between two looks at what is waited for. */
const LOOK = 500;
/** Milliseconds that connections have to take their leave. */
const LEAVE = 1_000;

/** What is used here of the driver's client. */
export interface Connection extends EventEmitter {
  /** Of the server's process, as the server said. */
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(error: Error): void; cork(): void; uncork(): void } };
  connect(): Promise<unknown>;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: object[] }>;
  end(): Promise<void>;
}

type Taken = (error: unknown, ...rest: unknown[]) => void;
/** The driver's pool; its `connect` takes a connection out of it. */
export interface ConnectionPool {
  connect(done?: Taken): unknown;
}

/** What is known of one connection, in milliseconds of `performance.now`. */
interface Line {
  heard: number;
  /** Since when a statement is under way, or the server is known to be at it. */
  since: number | undefined;
  /** The `since` for which the server said that it is not at it: the answer may still have been on its way. */
  doubted: number | undefined;
}

const now = (): number => performance.now();

/** Has a code by which the database counts as out of reach. */
const fallenSilent = (): Error =>
  Object.assign(new Error('the database server has fallen silent'), { code: 'ETIMEDOUT' });

/** Ends a connection whatever the server does; what is waited for on it fails. */
const hangUp = (client: Connection): void => client.connection.stream.destroy(fallenSilent());

/** What `work` resolves to. A connection that is not done with it in time is ended, so that it fails. */
export async function inTime<T>(client: Connection, work: () => Promise<T>, timeout = CONNECTION_TIMEOUT): Promise<T> {
  const timer = setTimeout(() => hangUp(client), timeout);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Finds out when the server falls silent without closing its connections, which TCP alone notices after a quarter of an
 * hour. A statement may take its time: when one does, the server is asked on a connection of its own whether it is
 * there and still at it, and only what it no longer answers, or no longer works on, is ended. So nothing that takes
 * long has to say so. Until a server that is not there answers again, no connection to it is waited for.
 */
export class Watchdog {
  readonly #lines = new Map<Connection, Line>();
  readonly #connect: () => Connection;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #away = false;
  /** Something went wrong that a silent server may be the reason of. */
  #suspected = false;
  constructor(connect: () => Connection, log: Logger) {
    this.#connect = connect;
    this.#log = log;
    let looking: Promise<void> | undefined;
    this.#timer = setInterval(() => {
      looking ??= this.#look().finally(() => (looking = undefined));
    }, LOOK).unref();
  }

  /** Watches a connection that has just been made. What it returns is to be called before each statement. */
  watch(client: Connection): () => void {
    const line: Line = { heard: now(), since: undefined, doubted: undefined };
    this.#lines.set(client, line);
    client.once('end', () => this.#lines.delete(client));
    // It says so when nothing is left to be answered.
    client.on('drain', () => Object.assign(line, { heard: now(), since: undefined }));
    return () => void (line.since = now());
  }

  /** No connection of this pool is waited for while the server is known to be away. */
  guard(pool: ConnectionPool): void {
    const take = pool.connect.bind(pool);
    pool.connect = (done) => {
      if (!done)
        return new Promise((resolve, reject) =>
          pool.connect((error, client) => (error ? reject(error as Error) : resolve(client))),
        );
      if (this.#away) return done(fallenSilent());
      return take((error, ...rest) => {
        this.#suspected ||= Boolean(error);
        done(error, ...rest);
      });
    };
  }

  /** To be called when the connections were told to end: those that cannot are ended soon after. */
  close(): void {
    clearInterval(this.#timer);
    setTimeout(() => this.#lines.forEach((_, client) => hangUp(client)), LEAVE).unref();
  }

  async #look(): Promise<void> {
    const begun = now();
    const late = [...this.#lines].filter(([, { since = Infinity }]) => begun - since > CONNECTION_TIMEOUT);
    if (late.length === 0 && !this.#suspected && !this.#away) return;
    this.#suspected = false;
    let working: ReadonlySet<number>;
    try {
      working = await this.#working(late.map(([{ processID }]) => processID));
    } catch (error) {
      // A refusal, such as for too many connections, is an answer.
      const away = !(error instanceof Error && 'severity' in error);
      if (away) this.#leave(begun, error);
      this.#away = away;
      return;
    }
    if (this.#away) this.#log.info({}, 'PostgreSQL answers again');
    this.#away = false;
    for (const [client, line] of late) {
      const { since } = line;
      // It was answered meanwhile.
      if (since === undefined || since > begun) continue;
      if (working.has(client.processID)) line.since = now();
      else if (line.doubted === since) hangUp(client);
      else line.doubted = since;
    }
  }

  /** Those of the server's processes `ids` that are at a statement. */
  async #working(ids: readonly number[]): Promise<ReadonlySet<number>> {
    const client = this.#connect();
    client.on('error', () => undefined);
    return inTime(client, async () => {
      try {
        await client.connect();
        const asked = [...ids, client.processID];
        const text = `select pid from pg_stat_activity where pid = any($1) and coalesce(state, '') not like 'idle%'`;
        const { rows } = await client.query(text, [asked]);
        const working = new Set(rows.map((row) => (row as { readonly pid: number }).pid));
        // A pooler in between tells numbers of its own: then nothing can be known of single connections.
        return working.has(client.processID) ? working : new Set(ids);
      } finally {
        void client.end();
      }
    });
  }

  /** Ends what has not been heard of since `begun`. */
  #leave(begun: number, error: unknown): void {
    if (!this.#away)
      this.#log.warn(
        { error: chainOf(error) },
        'PostgreSQL does not answer: until it does, no connection to it is waited for',
      );
    for (const [client, { heard }] of this.#lines) if (heard < begun) hangUp(client);
  }
}
