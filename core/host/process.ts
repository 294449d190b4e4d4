import type { Server } from 'node:http';
import { sep } from 'node:path';
import { createApp, type App, type AppOptions } from './app.ts';
import { serveCommands } from '../cli/socket/server.ts';
import { createExpressApp } from './express-app.ts';
import { inspectDatabase } from './databases/inspect.ts';
import { closeServer, listen } from './server.ts';
import { Setup, type DatabaseReport, type DataLocation, type Site } from './setup.ts';
import { PROGRAM, RUN } from './site.ts';
import { ConfigurationError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { RouteRegistry, type RequestHandler } from '../http/routes.ts';
import type { Token } from '../ref.ts';

export interface ServerProcessOptions {
  /** Reads the options to open the program with; called again each time it is opened. */
  read(): Promise<AppOptions>;
  /** Called before the port is opened. */
  readonly prepare?: (app: App) => Promise<void>;
  /** Shows the operator text that is not a log line. */
  print(text: string): void;
  /** Called when the program could not be reopened. */
  failed(error: unknown): void;
}

/** The program behind one port. It can be closed and reopened without giving up the port. */
export class ServerProcess implements Site {
  readonly #options: ServerProcessOptions;
  #log: Logger | undefined;
  #creating: Promise<App> | undefined;
  #app: App | undefined;
  /** The listening server, while no program owns it. */
  #server: Server | undefined;
  #commands: { close(): void } | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  /** Undefined before the program is first opened, and while it is being reopened. */
  get app(): App | undefined {
    return this.#app;
  }

  /**
   * Resolves to the port in use, or to undefined if `close` was called first. Throws `ConfigurationError` if nothing is
   * installed and no plugin can set the site up.
   */
  async open(): Promise<number | undefined> {
    const options = await this.#read();
    this.#creating = createApp(options);
    const app = await this.#creating;
    if (this.#closed) return undefined;
    this.#app = app;
    await this.#options.prepare?.(app);
    this.#commands = await serveCommands(app);
    const beginning = app.settings.get('kernel.installed_at') === '' ? setupOf(app).begin(this) : undefined;
    const port = await app.listen({ gate: beginning?.gate, open: this.#server });
    this.#server = undefined;
    const { baseUrl, host } = app.environment;
    const plugins = addedTo(app);
    app.log.info(
      {
        address: `http://${host}:${port}`,
        site: baseUrl,
        database: app.data.embedded ? 'embedded' : 'server',
        ...(plugins.length > 0 && { plugins }),
      },
      'listening',
    );
    if (beginning) this.#options.print(beginning.notice);
    return port;
  }

  async inspect(databaseUrl: string): Promise<DatabaseReport> {
    return inspectDatabase(databaseUrl, (await this.#read()).log);
  }

  async openAt<T>(place: DataLocation, work: (service: <S>(token: Token<S>) => S) => Promise<T>): Promise<T> {
    const { environment, ...options } = await this.#read();
    const app = await createApp({ ...options, environment: { ...environment, ...place } });
    try {
      return await work((token) => app.service(token));
    } finally {
      await app.close();
    }
  }

  async reopen(meanwhile: RequestHandler): Promise<void> {
    const app = this.#app;
    if (!app || this.#closed) return;
    try {
      this.#server = await hold(app, meanwhile);
      this.#app = undefined;
      this.#commands?.close();
      await app.close();
      if (!this.#closed) await this.open();
    } catch (error) {
      await this.close();
      this.#options.failed(error);
    }
  }

  /** Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= (async () => {
      this.#commands?.close();
      const app = this.#app ?? (await this.#creating?.catch(() => undefined));
      if (this.#server) await closeServer(this.#server);
      await app?.close();
    })());
  }

  /** Uses the same log each time the program is opened. */
  async #read(): Promise<AppOptions> {
    const options = await this.#options.read();
    return { ...options, log: (this.#log ??= options.log) };
  }
}

/** Ids of the running plugins that do not belong to the program. */
const addedTo = ({ kernel }: App): readonly string[] =>
  kernel.active().filter((id) => !kernel.graph.get(id).folder?.startsWith(PROGRAM + sep));

function setupOf(app: App): Setup {
  const setup = app.kernel.service(Setup);
  if (!setup) throw new ConfigurationError(NOT_INSTALLED);
  return setup;
}

/** Keeps the port open without a program behind it: healthy, but not ready. */
async function hold(app: App, gate: RequestHandler): Promise<Server | undefined> {
  const { environment, log } = app;
  const open = app.release();
  const routes = new RouteRegistry();
  const checks = { program: { needed: true, ask: () => Promise.reject(new Error('starting')) } };
  return open && listen(createExpressApp({ routes, log, checks, gate }), routes, environment, { open });
}

const NOT_INSTALLED = `Nothing is installed here yet. Install with

  ${RUN} install --admin-username NAME --admin-email ADDRESS --admin-password PASSWORD

(add --demo for demo content), or try it out with: npm run demo. Both need the plugin that does this: its id must be in
the configuration, and its folder must exist.`;
