import { createApp, type AppOptions } from '../host/app.ts';
import type { Command } from './command.ts';
import { messageOf } from '../errors.ts';
import { loadPlugins } from '../host/loader.ts';
import { readOptions } from '../host/serve.ts';
import { catalogue } from './catalogue.ts';
import { unopened } from './commands/doctor.ts';
import { terminalConsole, type OpenConsole } from './console.ts';
import { errorLines } from './error-lines.ts';
import { parseCall } from './parse.ts';
import { runCommand, standsAlone } from './run-command.ts';
import { delegate } from './socket.ts';
import { watchUnhandledErrors, type Core } from '../host/unhandled-errors.ts';

/**
 * One command from a shell; resolves to the process's exit code. A server that runs on the same data carries it out,
 * else the data is opened here for as long as it takes. Failures are one line on standard error, with the stack where
 * PARLEY_DEBUG=1; LOG_LEVEL brings the server's log lines back.
 */
export async function main(words: readonly string[]): Promise<number> {
  const console = terminalConsole();
  // Whatever reads the output, such as `head`, may have seen enough.
  process.stdout.on('error', () => process.exit(0));
  try {
    const options = await readOptions();
    await carryOut(
      process.env['LOG_LEVEL'] === undefined ? { ...options, log: errorLines() } : options,
      words,
      console,
    );
    return 0;
  } catch (error) {
    console.close();
    process.stderr.write(
      `${process.env['PARLEY_DEBUG'] === '1' && error instanceof Error ? error.stack : messageOf(error)}\n`,
    );
    return 1;
  } finally {
    console.close();
  }
}

async function carryOut(options: AppOptions, words: readonly string[], console: OpenConsole): Promise<void> {
  const plugins = await loadPlugins(options.site, options.configuration.plugins, options.log);
  const call = parseCall(catalogue(plugins), words, console.columns);
  if ('help' in call) return console.print(call.help);
  if (standsAlone(call.command)) return void (await call.command.run({}, call.options, console));
  const { terminal, columns } = console;
  if (await delegate(options.environment.dataDir, { argv: words, terminal, columns }, console)) return;
  await alone({ ...options, plugins }, call.command, words, console);
}

async function alone(
  options: AppOptions,
  command: Command,
  words: readonly string[],
  console: OpenConsole,
): Promise<void> {
  let core: Core | undefined;
  watchUnhandledErrors({ core: () => core, drain: () => Promise.resolve() });
  const app = await createApp({ ...options, starting: (opened) => (core = opened) }).catch((error: unknown) => {
    if (command.name === 'doctor') unopened(options, error, console);
    throw error;
  });
  try {
    await runCommand(app, words, console);
  } finally {
    await app.close();
  }
}
