import { createApp, type AppOptions } from '../host/app.ts';
import { loadPlugins } from '../host/loader.ts';
import { readOptions } from '../host/serve.ts';
import { watchUnhandledErrors } from '../host/unhandled-errors.ts';
import { catalogue } from './catalogue.ts';
import type { Command } from './command.ts';
import { unopened } from './commands/doctor.ts';
import type { OpenConsole } from './console.ts';
import { errorLines } from './error-lines.ts';
import { parseCall } from './parse.ts';
import { runCommand, runStanding, standsAlone } from './run-command.ts';

/** Runs a command when no server is running; throws the command's error if it fails. */
export async function runAlone(words: readonly string[], console: OpenConsole): Promise<void> {
  const starting = watchUnhandledErrors({ drain: () => Promise.resolve() });
  const options = await readOptions();
  const log = process.env['LOG_LEVEL'] === undefined ? errorLines() : options.log;
  const plugins = await loadPlugins(options.site, options.configuration.plugins, log);
  const call = parseCall(catalogue(plugins), words, console.columns);
  if ('help' in call) return console.print(call.help);
  if (standsAlone(call)) return runStanding(call, options.environment, console);
  await openAndRun({ ...options, log, plugins, starting }, call.command, words, console);
}

async function openAndRun(
  options: AppOptions,
  command: Command,
  words: readonly string[],
  console: OpenConsole,
): Promise<void> {
  const app = await createApp(options).catch((error: unknown) => {
    if (command.name === 'doctor') unopened(options, error, console);
    throw error;
  });
  try {
    await runCommand(app, words, console);
  } finally {
    await app.close();
  }
}
