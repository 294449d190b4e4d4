import type { Client } from 'pg';
import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

type Run = (payload: string) => void;

/** Milliseconds between attempts to reach a server that went away. */
const AGAIN = 1_000;
/** The advisory lock of a process that must be alone on its database; the number has no meaning. */
const ALONE = 7_216_001;

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`;

/** One connection outside the pool, kept open: for LISTEN and for the lock of `claimAlone`. It comes back by itself. */
export class Wire {
  readonly #create: () => Client;
  readonly #log: Logger;
  readonly #channels = new Map<string, Set<Run>>();
  #client: Promise<Client> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #alone = false;
  #closed = false;

  constructor(create: () => Client, log: Logger) {
    this.#create = create;
    this.#log = log;
  }

  /** `run` gets an empty payload too after the connection was lost: messages may have been missed meanwhile. */
  async listen(channel: string, run: Run): Promise<() => Promise<void>> {
    const runs = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, runs.add(run));
    await (await this.#open()).query(`listen ${quoted(channel)}`);
    // The channel itself stays open: a message that nobody waits for costs nothing.
    return async () => void runs.delete(run);
  }

  async claimAlone(): Promise<boolean> {
    if (this.#alone) return true;
    this.#alone = await this.#lock(await this.#open());
    return this.#alone;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = await this.#client?.catch(() => undefined);
    await client?.end();
  }

  #open(): Promise<Client> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const client = this.#create();
    client.on('notification', ({ channel, payload }) => this.#tell(channel, payload ?? ''));
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('the connection ended')));
    try {
      await client.connect();
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
    return client;
  }

  #lost(client: Client, error: Error): void {
    client.removeAllListeners();
    client.on('error', () => undefined);
    if (this.#closed) return;
    this.#client = undefined;
    this.#log.warn({ error: error.message }, 'the connection for database notifications was lost; trying again');
    this.#retry();
  }

  #retry(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#restore(), AGAIN).unref();
  }

  async #restore(): Promise<void> {
    if (this.#closed) return;
    try {
      const client = await this.#open();
      for (const channel of this.#channels.keys()) await client.query(`listen ${quoted(channel)}`);
      if (this.#alone && !(await this.#lock(client))) this.#log.error({}, 'another process took this database while it was away; stop one of the two, or set REDIS_URL for both');
      for (const channel of this.#channels.keys()) this.#tell(channel, '');
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the database cannot be reached; trying again');
      this.#retry();
    }
  }

  async #lock(client: Client): Promise<boolean> {
    const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${ALONE}) as held`);
    return rows[0]?.held === true;
  }

  #tell(channel: string, payload: string): void {
    for (const run of this.#channels.get(channel) ?? []) run(payload);
  }
}
