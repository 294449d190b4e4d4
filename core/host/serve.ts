import type { App, AppOptions } from './app.ts';
import { ServerProcess } from './process.ts';
import { FAULT, watchUnhandledErrors } from './unhandled-errors.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import type { Development } from './development/development.ts';
import { createLogger, logFormat } from './logger.ts';
import { readConfiguration, readEnvironment, SITE } from './site.ts';

/** Arguments that request demo content. */
const DEMO = new Set(['demo', '--demo']);
/** Milliseconds that stopping may take, in addition to draining, before the process exits anyway. */
const STOP_LIMIT = 9_000;

/** Reads environment and configuration from config/. Throws `ConfigurationError` listing every problem. */
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
 * Starts the server and runs it until a signal ends it. Run by `npm start`; the argument `demo` or the option `--demo`
 * starts it with demo content.
 */
export async function serve(development?: Development): Promise<void> {
  const change = development?.change ?? ((options) => options);
  const running = new ServerProcess({
    read: async () => ({ ...change(await readOptions(process.env, development !== undefined)), starting: begin }),
    prepare: async (app) => {
      if (DEMO.has(process.argv.at(-1)!))
        await demo(app).catch((error: unknown) => {
          // In development, it may need the very plugin that is being fixed.
          if (!development) throw error;
          app.log.error({ error }, 'the demo content could not be installed');
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

/** Problems that the operator can fix are printed as one line; anything else ends the process with a stack trace. */
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
  // `on` instead of `once`: npm forwards signals that its process group has received already, and without a listener
  // the second one would kill the process.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

const drainTime = ({ app }: ServerProcess): number => (app?.environment.drainSeconds ?? 0) * 1_000;
