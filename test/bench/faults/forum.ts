import { createClient, type Client } from 'parley-forum/testing';
import { startServer, type ServerProcess } from '../../core/fixtures/server-process.ts';
import { PASSWORD, type Prepared } from './prepared.ts';

type Variables = Readonly<Record<string, string>>;
interface Call {
  readonly method?: string;
  readonly body?: object;
  /** For `Idempotency-Key`. */
  readonly key?: string;
  /** The process that is asked; the one that was started last by default. */
  readonly url?: string;
}

/** The real program on data of its own, there to be hurt. */
export class Forum implements AsyncDisposable {
  readonly prepared: Prepared;
  readonly #environment: Variables;
  readonly #command: readonly string[] | undefined;
  readonly #servers: ServerProcess[] = [];
  /** From then on nobody answers any more. */
  closed = false;

  private constructor(prepared: Prepared, environment: Variables, command?: readonly string[]) {
    this.prepared = prepared;
    this.#environment = environment;
    this.#command = command;
  }

  /**
   * Starts one process; `environment` wins over what follows from the place, `command` is what starts it in place of the
   * program alone. The place is removed with the forum.
   */
  static async open(prepared: Prepared, environment: Variables = {}, command?: readonly string[]): Promise<Forum> {
    const forum = new Forum(prepared, environment, command);
    await forum.start();
    return forum;
  }

  get discussions(): readonly string[] {
    return this.prepared.discussions;
  }

  /** The process that was started last. */
  get server(): ServerProcess {
    return this.#servers.at(-1)!;
  }

  get url(): string {
    return this.server.url;
  }

  /** One more process, with what `environment` says beside what all are told. */
  async start(environment: Variables = {}): Promise<ServerProcess> {
    const server = await startServer(this.prepared.place, this.#command, { ...this.#environment, ...environment });
    this.#servers.push(server);
    return server;
  }

  guest(url = this.url): Client {
    return createClient(url);
  }

  /** A new session of the member. */
  async member(url = this.url): Promise<Client> {
    const client = createClient(url);
    await client.login('root', PASSWORD);
    return client;
  }

  /** Calls the API with the member's token. Throws what `fetch` throws when nobody answers. */
  async call(path: string, { method = 'GET', body, key, url = this.url }: Call = {}): Promise<Response> {
    const type = body && { 'content-type': 'application/json' };
    const headers = {
      authorization: `Bearer ${this.prepared.token}`,
      ...type,
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    return fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }

  /** What a call of the API answers. Throws when that is not 200. */
  async get(path: string, url = this.url): Promise<any> {
    const response = await this.call(path, { url });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    for (const server of this.#servers) {
      try {
        await server.end('SIGKILL');
      } catch {
        // It has ended before.
      }
    }
    await this.prepared.place.remove();
  }
}
