import { ConfigurationError } from '../errors.ts';
import { defineAction } from '../hooks.ts';
import type { Services, Tokens } from '../ref.ts';
import type { Static, TObject } from '../schema.ts';

/** Where a command writes. Progress, colours and pictures only where `terminal`. */
export interface Console {
  readonly terminal: boolean;
  /** Terminal width in characters; 80 where it is not a terminal. */
  readonly columns: number;
  print(line: string): void;
  /** Replaces the last progress line on a terminal; does nothing elsewhere. */
  progress(line: string): void;
  /**
   * Asks for what must not be shown, twice, on a terminal. Elsewhere it is the first line of standard input where the
   * caller said so (`piped`), and undefined otherwise, so that no script waits for an answer.
   */
  secret(label: string, piped: boolean): Promise<string | undefined>;
}

/**
 * The value of a secret option, which others on the machine could read in the list of processes: left out, it is asked
 * for; as `-` it is the first line of standard input.
 */
export async function secretOption(console: Console, name: string, given: string | undefined): Promise<string> {
  const value =
    given === undefined || given === '-' ? await console.secret(name.replaceAll('-', ' '), given === '-') : given;
  if (value === undefined || value === '')
    throw new ConfigurationError(
      `--${name} is missing; leave it out on a terminal to be asked, or give "-" and write it to standard input`,
    );
  return value;
}

export interface CommandDefinition<N extends Tokens, O extends TObject> {
  /** One or two words: `seed`, `user create`. Unique over all plugins. */
  readonly name: string;
  readonly summary: string;
  /** What `--help` shows after the summary. */
  readonly example?: string;
  /** Names of `options` that are given by position, in order: `user promote NAME`. */
  readonly positional?: readonly string[];
  /** Every option, positional ones included; `--admin-username` is the property `admin-username`. */
  readonly options: O;
  /**
   * Services it uses; their plugins are started for it. A command of none, or of `Environment` alone, runs without the
   * data.
   */
  readonly needs?: N;
  /** Throw an error whose message is one clear line to fail. */
  run(services: Services<N>, options: Static<O>, console: Console): Promise<void> | void;
}

/** A command of a plugin. `any` because a list of commands mixes types; `defineCommand` checks each one. */
export type Command = CommandDefinition<any, any>;

/** In place of the id of the account that does something: somebody with a shell on the server gave a command. */
export const commandLine = 'command line';

/**
 * What one of the kernel's own commands does to a setting, a plugin or the whole site. `stayed`: what was begun before
 * failed. Raised in the transaction of the change; before it where plugins start and stop, which no transaction holds,
 * and after a backup.
 */
export const operated = defineAction<{
  readonly done: 'set' | 'enabled' | 'disabled' | 'installed' | 'removed' | 'uninstalled' | 'stayed' | 'backed-up';
  /** The key of the setting, the id of the plugin or the path of the backup; never a value. */
  readonly subject: string;
  /** Plugins that stop with it. */
  readonly others?: readonly string[];
}>('kernel.operated');

/**
 * Something an operator can do from a shell: `npm run parley -- <name>`. It runs in the server where one is running.
 */
export function defineCommand<N extends Tokens = {}, O extends TObject = TObject<{}>>(
  definition: CommandDefinition<N, O>,
): Command {
  return definition;
}
