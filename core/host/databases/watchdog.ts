import type { EventEmitter } from 'node:events';
import { chainOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';

/** Milliseconds a statement may run before the server is checked for being alive, and the timeout of that check. */
const CONNECTION_TIMEOUT = 5_000;
/** Milliseconds between checks for slow statements. */
const LOOK = 500;
/** Milliseconds that connections have for closing gracefully. */
const LEAVE = 1_000;

/** The part of the driver's client that is used here. */
export interface Connection extends EventEmitter {
  /** PID of the server process, as reported by the server. */
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(error: Error): void; cork(): void; uncork(): void } };
  connect(): Promise<unknown>;
  query(text: string, values?: readonly unknown[]): Promise<{ rows: object[] }>;
  end(): Promise<void>;
}

type Taken = (error: unknown, ...rest: unknown[]) => void;
/** The driver's pool; `connect` takes a connection out of it. */
export interface ConnectionPool {
  connect(done?: Taken): unknown;
}

/** The state of one connection; times are milliseconds of `performance.now`. */
interface Line {
  heard: number;
  /** Since when a statement has been running, or when the server was last seen working on it. */
  since: number | undefined;
  /** The `since` for which the server reported that it is not working: the result may still have been in transit. */
  doubted: number | undefined;
}

const now = (): number => performance.now();

/** The error code counts as the database being unavailable. */
const fallenSilent = (): Error =>
  Object.assign(new Error('the database server stopped responding'), { code: 'ETIMEDOUT' });

/** Closes a connection without waiting for the server; pending statements on it fail. */
const hangUp = (client: Connection): void => client.connection.stream.destroy(fallenSilent());

/** Resolves to the result of `work`. If it takes too long, the connection is closed, which makes it fail. */
export async function inTime<T>(client: Connection, work: () => Promise<T>, timeout = CONNECTION_TIMEOUT): Promise<T> {
  const timer = setTimeout(() => hangUp(client), timeout);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Detects a server that goes silent without closing its connections, which TCP alone notices only after a quarter of an
 * hour. Slow statements are allowed: if one takes long, the server is asked on a separate connection whether it is
 * alive and still working on it, and only connections that it no longer answers or works on are closed. So long-running
 * statements need no special marking. While the server is away, requests for a connection fail immediately.
 */
export class Watchdog {
  readonly #lines = new Map<Connection, Line>();
  readonly #connect: () => Connection;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #away = false;
  /** An error occurred that a silent server may have caused. */
  #suspected = false;
  constructor(connect: () => Connection, log: Logger) {
    this.#connect = connect;
    this.#log = log;
    let looking: Promise<void> | undefined;
    this.#timer = setInterval(() => {
      looking ??= this.#look().finally(() => (looking = undefined));
    }, LOOK).unref();
  }

  /** Watches a new connection. Call the returned function before each statement. */
  watch(client: Connection): () => void {
    const line: Line = { heard: now(), since: undefined, doubted: undefined };
    this.#lines.set(client, line);
    client.once('end', () => this.#lines.delete(client));
    // Emitted when no statement is waiting for a result.
    client.on('drain', () => Object.assign(line, { heard: now(), since: undefined }));
    return () => void (line.since = now());
  }

  /** Makes the pool's `connect` fail immediately while the server is known to be away. */
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

  /** Call after telling the connections to end: those that cannot are closed soon after. */
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
      // An error response, such as too many connections, still shows that the server is alive.
      const away = !(error instanceof Error && 'severity' in error);
      if (away) this.#leave(begun, error);
      this.#away = away;
      return;
    }
    if (this.#away) this.#log.info({}, 'PostgreSQL responds again');
    this.#away = false;
    for (const [client, line] of late) {
      const { since } = line;
      // It has been answered in the meantime.
      if (since === undefined || since > begun) continue;
      if (working.has(client.processID)) line.since = now();
      else if (line.doubted === since) hangUp(client);
      else line.doubted = since;
    }
  }

  /** The PIDs out of `ids` whose server processes are working on a statement. */
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
        // A pooler in between reports other PIDs, so nothing can be said about single connections.
        return working.has(client.processID) ? working : new Set(ids);
      } finally {
        void client.end();
      }
    });
  }

  /** Closes connections that have received nothing since `begun`. */
  #leave(begun: number, error: unknown): void {
    if (!this.#away)
      this.#log.warn(
        { error: chainOf(error) },
        'PostgreSQL does not respond: until it does, requests do not wait for a connection to it',
      );
    for (const [client, { heard }] of this.#lines) if (heard < begun) hangUp(client);
  }
}
