import type { ParseArgsOptionsConfig } from 'node:util';
import type { Command } from './command.ts';
import type { TSchema } from '../schema.ts';

/** What help and the reader look at in an option's schema. */
export interface OptionSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly { readonly const?: unknown }[];
}

export const propertiesOf = (command: Command): Readonly<Record<string, TSchema>> =>
  command.options.properties as Record<string, TSchema>;
export const schemaOf = (schema: TSchema): OptionSchema => schema as OptionSchema;

/**
 * For node's own reader: flags take no value, lists may be given several times, everything else is text for the schema
 * to read.
 */
export function optionsOf(command: Command): ParseArgsOptionsConfig {
  const options: ParseArgsOptionsConfig = { help: { type: 'boolean', short: 'h' } };
  for (const [name, schema] of Object.entries(propertiesOf(command))) {
    if (command.positional?.includes(name)) continue;
    const { type } = schemaOf(schema);
    options[name] = { type: type === 'boolean' ? 'boolean' : 'string', multiple: type === 'array' };
  }
  return options;
}

/**
 * How a value stands in a usage line: `N` for numbers, the last part of the name for text, the choices where there are
 * any.
 */
export function placeholder(name: string, schema: TSchema): string {
  const { type, anyOf, enum: choices } = schemaOf(schema);
  const literals = choices ?? anyOf?.map((one) => one.const);
  if (literals?.every((literal) => literal !== undefined)) return literals.join('|');
  return type === 'integer' || type === 'number' ? 'N' : name.split('-').at(-1)!.toUpperCase();
}
