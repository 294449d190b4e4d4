import { Argument, Command as Commander, CommanderError, Option } from 'commander';
import type { Command } from './command.ts';
import { ConfigurationError } from '../errors.ts';
import { VERSION } from '../host/loader.ts';
import { RUN } from '../host/site.ts';
import { check } from '../schema.ts';

/** A command and its owner, as shown in the overview. */
export interface Entry {
  readonly command: Command;
  readonly owner: string;
}

/** A parsed command line: help to print, or a command with its validated options. */
export type Call = { readonly help: string } | { readonly command: Command; readonly options: object };

/** The parts of an option's schema that are used here. */
interface OptionSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly { readonly const?: unknown }[];
}

/**
 * Parses the words after `parley`; help is wrapped at `columns`. Throws a `ConfigurationError` with a single line that
 * says what is wrong and where to look.
 */
export function parseCall(entries: readonly Entry[], words: readonly string[], columns = 80): Call {
  const line = words[0] === 'help' ? [...words.slice(1), '--help'] : [...words];
  const [first = '', second = '--help'] = line;
  const known = (name: string): boolean => entries.some(({ command }) => command.name === name);
  const group = entries.filter(({ command }) => command.name.startsWith(`${first} `));
  if (group.length > 0 && !known(first) && ['-h', '--help'].includes(second)) return parse(group, [], columns);
  const two = `${first} ${second}`;
  if (known(two) || (!known(first) && !second.startsWith('-'))) line.splice(0, 2, two);
  // For an unknown command pass only its name: if `--help` followed, commander would print the overview.
  return parse(entries, known(line[0]!) || first.startsWith('-') ? line : line.slice(0, 1), columns);
}

/** The output of a command's `--help`. */
export function commandHelp(command: Command): string {
  return (parse([{ command, owner: '' }], [command.name, '--help'], 80) as { help: string }).help;
}

/** Two-word commands are registered with commander under a single name, so that its suggestions are whole names. */
function parse(entries: readonly Entry[], line: readonly string[], columns: number): Call {
  let [help, call]: [string, Call | undefined] = ['', undefined];
  const print = (text: string): void => void (help += text);
  const program = new Commander(RUN)
    .usage('COMMAND [OPTIONS]')
    .version(VERSION, '-V, --version', 'print the version of Parley')
    .addHelpText('after', '\nPass --help to a command for a description of it.')
    .helpCommand(false)
    .configureHelp({
      sortSubcommands: true,
      subcommandTerm: (child) =>
        [
          child.name(),
          ...child.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
        ].join(' '),
    })
    .configureOutput({
      writeOut: print,
      // Receives the overview if no command was named.
      writeErr: print,
      // Errors are thrown instead.
      outputError: () => undefined,
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
    });
  for (const { command, owner } of entries) {
    const child = new Commander(command.name).copyInheritedSettings(program).helpGroup(owner);
    child.description(command.summary);
    if (command.example) child.addHelpText('after', `\nExample: ${RUN} ${command.example}`);
    const given = declare(child, command, line);
    child.action(() => void (call = { command, options: checked(command, given()) }));
    child.exitOverride(refuse(`${RUN} ${command.name}`));
    program.addCommand(child);
  }
  try {
    program.exitOverride(refuse(RUN)).parse(line, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return call ?? { help: help.trimEnd() };
}

/** Errors end parsing with a one-line message; help and version just end it. */
const refuse =
  (usage: string) =>
  (error: CommanderError): never => {
    if (/^commander\.(?:help|version)/.test(error.code)) throw error;
    const problem = error.message.replace(/^error: /, '').replace(/[.]$/, '');
    throw new ConfigurationError(`${problem.replaceAll('\n', ' ')}. See: ${usage} --help`);
  };

/** Declares the schema's options with commander; the result returns the given values under the schema's names. */
function declare(child: Commander, command: Command, line: readonly string[]): () => Record<string, unknown> {
  const properties = Object.entries(command.options.properties as Record<string, OptionSchema>);
  const required = new Set((command.options.required as string[] | undefined) ?? []);
  const attributes = new Map<string, string>();
  for (const [name, schema] of properties) {
    if (command.positional?.includes(name)) continue;
    const option = optionOf(name, schema, required.has(name), line);
    child.addOption(option);
    if (schema.type === 'boolean') child.addOption(new Option(`--no-${name}`).hideHelp());
    attributes.set(name, option.attributeName());
  }
  const positional = command.positional ?? [];
  for (const name of positional) {
    const schema = command.options.properties[name] as OptionSchema;
    const argument = new Argument(needed(schema, required.has(name)) ? `<${name}>` : `[${name}]`, schema.description);
    const choices = choicesOf(schema);
    child.addArgument(choices ? argument.choices(choices) : argument);
  }
  return () =>
    Object.fromEntries(
      [
        ...[...attributes].map(([name, attribute]) => [name, child.getOptionValue(attribute)] as const),
        ...positional.map((name, at) => [name, child.processedArgs[at]] as const),
      ].filter(([, value]) => value !== undefined),
    );
}

/** A flag takes no value and a list may be repeated; everything else is text that the schema parses. */
function optionOf(name: string, schema: OptionSchema, required: boolean, line: readonly string[]): Option {
  const { type, description = '' } = schema;
  if (type === 'boolean') return new Option(`--${name}`, description);
  const value = type === 'integer' || type === 'number' ? 'n' : name.split('-').at(-1);
  const note = needed(schema, required) ? `${description} (required)`.trim() : description;
  // Not declared mandatory: commander would complain about that before naming a misspelled option.
  const option = new Option(`--${name} <${value}>`, note).default(schema.default);
  const choices = choicesOf(schema);
  if (choices) return option.choices(choices);
  return option.argParser((text, before: unknown) => {
    // Commander accepts any word as the value, even the next option if the value was forgotten.
    if (/^-./.test(text) && line.includes(text))
      throw new ConfigurationError(`--${name} has no value; write --${name}=VALUE if the value begins with a dash`);
    return type === 'array' ? [...((before as string[] | undefined) ?? []), text] : text;
  });
}

/** In the schema, options with a default are required too. */
const needed = (schema: OptionSchema, required: boolean): boolean => required && schema.default === undefined;

function choicesOf({ enum: choices, anyOf }: OptionSchema): string[] | undefined {
  const literals = choices ?? anyOf?.map((one) => one.const);
  return literals?.every((literal) => literal !== undefined) ? literals.map(String) : undefined;
}

function checked(command: Command, given: Record<string, unknown>): object {
  const result = check(command.options, given, { coerce: true });
  if (result.ok) return result.value as object;
  const named = (field: string): string =>
    command.positional?.includes(field) ? field : field in command.options.properties ? `--${field}` : field;
  const problems = result.problems.map(({ field, message }) => `${named(field.split('.')[0]!)} ${message}`);
  throw new ConfigurationError(`${problems.join('; ')}. See: ${RUN} ${command.name} --help`);
}
