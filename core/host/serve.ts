import type { App, AppOptions } from './app.ts';
import { ServerProcess } from './process.ts';
import { FAULT, watchUnhandledErrors } from './unhandled-errors.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import type { Development } from './development/development.ts';
import { createLogger, logFormat } from './logger.ts';
import { readConfiguration, readEnvironment, SITE } from './site.ts';

/** What asks for lifelike content. */
const DEMO = new Set(['demo', '--demo']);
/** How long a stop may take beside the draining before the process ends anyway, in milliseconds. */
const STOP_LIMIT = 9_000;

/** Environment and configuration as config/ gives them. Throws `ConfigurationError` with every problem. */
export async function readOptions(
  variables: Readonly<Record<string, string | undefined>> = process.env,
  development = false,
): Promise<AppOptions> {
  const [environment, configuration] = await Promise.all([readEnvironment(variables), readConfiguration(SITE)]);
  const log = createLogger({
    level: variables['LOG_LEVEL'] ?? 'info',
    format: logFormat(variables['LOG_FORMAT'], development),
  });
  return { site: SITE, environment, configuration, log };
}

/**
 * Starts the server and keeps it until a signal ends it. `npm start`, and with the argument `demo` or the option
 * `--demo` on lifelike content.
 */
export async function serve(development?: Development): Promise<void> {
  const change = development?.change ?? ((options) => options);
  const running = new ServerProcess({
    read: async () => ({ ...change(await readOptions(process.env, development !== undefined)), starting: begin }),
    prepare: async (app) => {
      if (DEMO.has(process.argv.at(-1)!))
        await demo(app).catch((error: unknown) => {
          // What it needs may be the plugin that is being mended.
          if (!development) throw error;
          app.log.error({ error }, 'the lifelike content cannot be looked for');
        });
      development?.attend(app);
    },
    print: (text) => void process.stdout.write(`\n${text}\n\n`),
    failed,
  });
  stopOnSignals(running);
  const begin = watchUnhandledErrors({
    drain: () => {
      setTimeout(() => process.exit(FAULT), drainTime(running) + STOP_LIMIT).unref();
      return running.close();
    },
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
  if (!(error instanceof ConfigurationError)) {
    console.error(error);
    process.exit(FAULT);
  }
  console.error(messageOf(error));
  process.exitCode = 1;
}

async function demo(app: App): Promise<void> {
  const { runCommand } = await import('../cli/run-command.ts');
  await runCommand(app, ['demo']);
}

function stopOnSignals(running: ServerProcess): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    running.app?.log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), drainTime(running) + STOP_LIMIT).unref();
    running.close().then(
      () => process.exit(0),
      (error: unknown) => {
        running.app?.log.error({ error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  // `on`: npm passes on what its process group got as well, and a second signal that nobody hears ends the process.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

const drainTime = ({ app }: ServerProcess): number => (app?.environment.drainSeconds ?? 0) * 1_000;
