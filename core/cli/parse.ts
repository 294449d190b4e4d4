import { parseArgs } from 'node:util';
import type { Command } from './command.ts';
import { ConfigurationError, type FieldProblem } from '../errors.ts';
import { check, type TSchema } from '../schema.ts';
import { commandHelp, overview, RUN, type Entry } from './help.ts';
import { optionsOf, placeholder, propertiesOf } from './options.ts';
import { suggest } from './suggest.ts';

/** What a line asks for: help to print, or a command with its options checked. */
export type Call = { readonly help: string } | { readonly command: Command; readonly options: object };

/** Reads the words after `parley`. Throws `ConfigurationError` with one line that says what to write instead. */
export function parseCall(entries: readonly Entry[], words: readonly string[]): Call {
  const asksHelp = words[0] === undefined || words[0] === 'help' || words[0].startsWith('-');
  const named = asksHelp && words[0] === 'help' ? words.slice(1) : words;
  const command = find(entries, named);
  if (!command && asksHelp && (named[0] === undefined || ['-h', '--help'].includes(named[0])))
    return { help: overview(entries) };
  if (!command) return group(entries, named) ?? unknown(entries, named);
  if (asksHelp) return { help: commandHelp(command) };
  return parseOptions(command, words.slice(command.name.split(' ').length));
}

/** The longest name the words begin with: `user create` wins over a command `user`. */
function find(entries: readonly Entry[], words: readonly string[]): Command | undefined {
  const named = (count: number): Command | undefined =>
    entries.find(({ command }) => command.name === words.slice(0, count).join(' '))?.command;
  return words.length === 0 ? undefined : (named(2) ?? named(1));
}

/** `parley user`, `parley user --help`: the commands that begin with this word. */
function group(entries: readonly Entry[], [word, next]: readonly string[]): Call | undefined {
  const below = entries.filter(({ command }) => command.name.startsWith(`${word} `));
  return below.length > 0 && (next === undefined || ['-h', '--help'].includes(next))
    ? { help: overview(below) }
    : undefined;
}

function unknown(entries: readonly Entry[], words: readonly string[]): never {
  const given = words.filter((word) => !word.startsWith('-')).slice(0, 2);
  const names = entries.map(({ command }) => command.name);
  const one = given[0] ?? words[0] ?? '';
  const two = given.join(' ');
  const meant = suggest(two, names) ?? suggest(one, names);
  const shown = names.some((name) => name.startsWith(`${one} `)) ? two : one;
  throw new ConfigurationError(
    `There is no command "${shown}"${meant ? `; did you mean "${meant}"?` : `; see them all with: ${RUN} --help`}`,
  );
}

function parseOptions(command: Command, words: readonly string[]): Call {
  const properties = propertiesOf(command);
  const { values, positionals } = split(command, words);
  if (values['help']) return { help: commandHelp(command) };
  const names = command.positional ?? [];
  if (positionals.length > names.length)
    throw new ConfigurationError(
      `"${positionals[names.length]}" is one word too many for "${command.name}". ${usageHint(command)}`,
    );
  for (const [at, value] of positionals.entries()) values[names[at]!] = value;
  const result = check(command.options, values, { coerce: true });
  if (result.ok) return { command, options: result.value as object };
  throw new ConfigurationError(
    `${result.problems.map((problem) => describe(command, properties, problem)).join('; ')}. ${usageHint(command)}`,
  );
}

function split(
  command: Command,
  words: readonly string[],
): { values: Record<string, unknown>; positionals: readonly string[] } {
  const options = optionsOf(command);
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
      allowNegative: true,
    });
    return { values: { ...values }, positionals };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
      throw new ConfigurationError(`${message.split(/\n|\. /)[0]}. ${usageHint(command)}`);
    const given = /'(-[^']*)'/.exec(message)?.[1] ?? '';
    const meant = suggest(given.replace(/^-+/, ''), Object.keys(options));
    throw new ConfigurationError(
      `"${command.name}" has no option ${given}${meant ? `; did you mean --${meant}?` : `. ${usageHint(command)}`}`,
    );
  }
}

const usageHint = (command: Command): string => `See: ${RUN} ${command.name} --help`;

function describe(
  command: Command,
  properties: Readonly<Record<string, TSchema>>,
  { field, message }: FieldProblem,
): string {
  const name = field.split('.')[0]!;
  if (!properties[name]) return `${field} ${message}`;
  return `${command.positional?.includes(name) ? placeholder(name, properties[name]) : `--${name}`} ${message}`;
}
