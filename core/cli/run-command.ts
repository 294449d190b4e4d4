import type { App } from '../host/app.ts';
import type { Command, Console } from './command.ts';
import { Environment } from '../environment.ts';
import { ConfigurationError } from '../errors.ts';
import { RUN } from '../host/site.ts';
import type { Token, Tokens } from '../ref.ts';
import { catalogue } from './catalogue.ts';
import { terminalConsole } from './console.ts';
import { parseCall, type Call } from './parse.ts';
import { Program } from './program.ts';

/** Runs one command line in an open program. Throws the command's error, whose message is one clear line. */
export async function runCommand(app: App, words: readonly string[], console?: Console): Promise<void> {
  if (console) return run(app, words, console);
  const terminal = terminalConsole();
  await run(app, words, terminal).finally(() => terminal.close());
}

const run = (app: App, words: readonly string[], console: Console): Promise<void> =>
  runCall(app, readCall(app, words, console), console);

/** Parses a command line for an open program. */
export const readCall = (app: App, words: readonly string[], { columns }: Pick<Console, 'columns'>): Call =>
  parseCall(catalogue(app.kernel.graph.all()), words, columns);

export async function runCall(app: App, call: Call, console: Console): Promise<void> {
  if ('help' in call) return console.print(call.help);
  await call.command.run(services(app, call.command), call.options, console);
}

const needsOf = ({ needs = {} }: Command): [string, Token<unknown>][] => Object.entries(needs as Tokens);

/**
 * Whether the command needs nothing of the program except perhaps the environment: it then runs without opening the
 * data.
 */
export const standsAlone = (call: Call): boolean =>
  'command' in call && needsOf(call.command).every(([, { id }]) => id === Environment.id);

/** Runs a command that stands alone. */
export async function runStanding(
  { command, options }: Extract<Call, { readonly command: Command }>,
  environment: Environment,
  console: Console,
): Promise<void> {
  await command.run(Object.fromEntries(needsOf(command).map(([name]) => [name, environment])), options, console);
}

function services(app: App, command: Command): Record<string, unknown> {
  return Object.fromEntries(
    needsOf(command).map(([name, token]) => [name, token.id === Program.id ? app : find(app, command, token)]),
  );
}

function find(app: App, command: Command, token: Token<unknown>): unknown {
  const service = app.kernel.service(token);
  if (service !== undefined) return service;
  const provider = app.kernel.graph
    .all()
    .find((plugin) => Object.values((plugin.provides ?? {}) as Tokens).some((provided) => provided.id === token.id));
  if (!provider)
    throw new ConfigurationError(
      `"${command.name}" needs ${token.id}, which no installed plugin provides; add one that does to config/forum.ts`,
    );
  const problem = app.plugins.list().find(({ id }) => id === provider.id)?.problem;
  throw new ConfigurationError(
    problem
      ? `"${command.name}" needs the plugin "${provider.id}", which is not running: ${problem}`
      : `"${command.name}" needs the plugin "${provider.id}", which is off; switch it on with: ${RUN} plugin enable ${provider.id}`,
  );
}
