import { join, resolve } from 'node:path';
import { createApp, type App, type AppOptions } from './app.ts';
import { serveCommands } from './socket.ts';
import { logStray } from './stray.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import type { Environment } from '../environment.ts';
import type { AppConfiguration } from './loader.ts';
import { createLogger } from './logger.ts';

/** How long a stop may take before the process ends anyway, in milliseconds. */
const STOP_LIMIT = 9_000;

/** The project's root: the folder above core/. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** Environment and configuration as config/ gives them. Throws `ConfigurationError` with every problem. */
export async function readOptions(variables: Readonly<Record<string, string | undefined>> = process.env): Promise<AppOptions> {
  const [{ readEnvironment }, { default: configuration }] = await Promise.all([
    import(join(ROOT, 'config/environment.ts')) as Promise<{ readEnvironment(from: typeof variables): Environment }>,
    import(join(ROOT, 'config/forum.ts')) as Promise<{ default: AppConfiguration }>,
  ]);
  const environment = readEnvironment(variables);
  return { root: ROOT, environment, configuration, log: createLogger({ level: variables['LOG_LEVEL'] ?? 'info' }) };
}

/** Starts the server and keeps it until a signal ends it. `npm start`, and `npm run demo` with the argument `demo`. */
export async function serve(): Promise<void> {
  let app: App | undefined;
  try {
    const options = await readOptions();
    app = await createApp(options);
    stopOnSignals(app);
    process.on('unhandledRejection', (reason) => app && logStray(app, reason));
    if (process.argv[2] === 'demo') await demo(app);
    else if (app.settings.get('kernel.installed_at') === '') throw new ConfigurationError(NOT_INSTALLED);
    const commands = await serveCommands(app);
    const port = await app.listen();
    process.once('exit', () => commands.close());
    const { baseUrl, host } = app.environment;
    options.log.info({ address: `http://${host}:${port}`, site: baseUrl, database: app.data.embedded ? 'embedded' : 'server' }, 'listening');
  } catch (error) {
    await app?.close();
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}

const NOT_INSTALLED = `Nothing is installed here yet. Install with

  npm run parley -- install --admin-username NAME --admin-email ADDRESS --admin-password PASSWORD

(add --demo for lifelike content), or try it out with: npm run demo`;

async function demo(app: App): Promise<void> {
  const { runCommand } = await import('./run.ts');
  await runCommand(app, ['demo']);
}

function stopOnSignals(app: App): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    app.log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), STOP_LIMIT).unref();
    app.close().then(() => process.exit(0), (error: unknown) => {
      app.log.error({ error }, 'stopping failed');
      process.exit(1);
    });
  };
  // `on`: npm passes on what its process group got as well, and a second signal that nobody hears ends the process.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
