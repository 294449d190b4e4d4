import { join } from 'node:path';
import type { App, AppOptions } from './app.ts';
import { Running } from './running.ts';
import { logStray } from './stray.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import type { Environment } from '../environment.ts';
import type { AppConfiguration } from './loader.ts';
import { createLogger } from './logger.ts';
import { ROOT } from './root.ts';

/** How long a stop may take before the process ends anyway, in milliseconds. */
const STOP_LIMIT = 9_000;

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
  const running = new Running({
    read: readOptions,
    ...(process.argv[2] === 'demo' && { prepare: demo }),
    print: (text) => void process.stdout.write(`\n${text}\n\n`),
    failed,
  });
  stopOnSignals(running);
  process.on('unhandledRejection', (reason) => {
    if (!running.app) throw reason;
    logStray(running.app, reason);
  });
  try {
    await running.open();
    process.once('exit', () => void running.close());
  } catch (error) {
    await running.close();
    failed(error);
  }
}

/** What the operator can mend is one line; anything else ends the process with its stack. */
function failed(error: unknown): void {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(messageOf(error));
  process.exitCode = 1;
}

async function demo(app: App): Promise<void> {
  const { runCommand } = await import('./run.ts');
  await runCommand(app, ['demo']);
}

function stopOnSignals(running: Running): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    running.app?.log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), STOP_LIMIT).unref();
    running.close().then(() => process.exit(0), (error: unknown) => {
      running.app?.log.error({ error }, 'stopping failed');
      process.exit(1);
    });
  };
  // `on`: npm passes on what its process group got as well, and a second signal that nobody hears ends the process.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
