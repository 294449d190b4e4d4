import type { Command } from './command.ts';
import type { TSchema } from '../schema.ts';
import { placeholder, propertiesOf, schemaOf } from './options.ts';

/** A command and whose it is, for the overview. */
export interface Entry {
  readonly command: Command;
  readonly owner: string;
}

/** How commands are started; every hint repeats it. */
export const RUN = 'npm run parley --';

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`.trimEnd()).join('\n');
};

/** What must be given: a schema counts options with a default as required too. */
const required = (command: Command): ReadonlySet<string> =>
  new Set(
    ((command.options.required as string[] | undefined) ?? []).filter(
      (name) => schemaOf(propertiesOf(command)[name]!).default === undefined,
    ),
  );

function positionals(command: Command): string {
  const needed = required(command);
  const properties = propertiesOf(command);
  return (command.positional ?? [])
    .map((name) => placeholder(name, properties[name]!))
    .map((shown, at) => (needed.has(command.positional![at]!) ? shown : `[${shown}]`))
    .join(' ');
}

function flag(name: string, schema: TSchema): string {
  return schemaOf(schema).type === 'boolean' ? `--${name}` : `--${name} ${placeholder(name, schema)}`;
}

function note(schema: TSchema, isRequired: boolean): string {
  const { description = '', default: fallback } = schemaOf(schema);
  if (isRequired) return `${description} (required)`.trim();
  return fallback === undefined || fallback === false
    ? description
    : `${description} (default: ${String(fallback)})`.trim();
}

/** All commands, grouped by whose they are, each with what it does. */
export function overview(entries: readonly Entry[]): string {
  const groups = Map.groupBy(entries, ({ owner }) => owner);
  const blocks = [...groups].map(([owner, group]) => {
    const commands = group.map(({ command }) => command).toSorted((a, b) => a.name.localeCompare(b.name));
    return `${owner}\n${columns(commands.map((command) => [`${command.name} ${positionals(command)}`.trim(), command.summary]))}`;
  });
  return [`Usage: ${RUN} COMMAND [OPTIONS]`, ...blocks, `Each command explains itself with --help.`].join('\n\n');
}

/** One command: what it does, how it is written, what its options mean. */
export function commandHelp(command: Command): string {
  const needed = required(command);
  const options = Object.entries(propertiesOf(command)).filter(([name]) => !command.positional?.includes(name));
  const asked = options.filter(([name]) => needed.has(name)).map(([name, schema]) => flag(name, schema));
  const usage = [
    RUN,
    command.name,
    positionals(command),
    ...asked,
    ...(options.length > asked.length ? ['[OPTIONS]'] : []),
  ]
    .filter(Boolean)
    .join(' ');
  const rows = (command.positional ?? [])
    .map((name) => [name, propertiesOf(command)[name]!] as const)
    .map(([name, schema]) => [placeholder(name, schema), note(schema, needed.has(name))] as const)
    .concat(options.map(([name, schema]) => [flag(name, schema), note(schema, needed.has(name))] as const));
  return [
    command.summary,
    `Usage: ${usage}`,
    ...(rows.length > 0 ? [columns(rows)] : []),
    ...(command.example ? [`Example: ${RUN} ${command.example}`] : []),
  ].join('\n\n');
}
