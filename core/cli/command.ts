import { ConfigurationError } from '../errors.ts';
import { defineAction } from '../hooks.ts';
import type { Services, Tokens } from '../ref.ts';
import type { Static, TObject } from '../schema.ts';

/** The output of a command. Use progress, colours and pictures only if `terminal`. */
export interface Console {
  readonly terminal: boolean;
  /** Terminal width in characters; 80 if it is not a terminal. */
  readonly columns: number;
  print(line: string): void;
  /** Replaces the last progress line on a terminal; does nothing otherwise. */
  progress(line: string): void;
  /**
   * Prompts for a secret twice, without echo, on a terminal. Otherwise returns the first line of standard input if the
   * caller asked for that (`piped`), and undefined if not, so that no script hangs waiting for input.
   */
  secret(label: string, piped: boolean): Promise<string | undefined>;
}

/**
 * Returns the value of a secret option, which other users of the machine could read in the process list: if omitted,
 * the user is prompted for it; `-` reads it from the first line of standard input.
 */
export async function secretOption(console: Console, name: string, given: string | undefined): Promise<string> {
  const value =
    given === undefined || given === '-' ? await console.secret(name.replaceAll('-', ' '), given === '-') : given;
  if (value === undefined || value === '')
    throw new ConfigurationError(
      `--${name} is missing: run this at a terminal, where you are asked for it, or add "--${name} -" and write it to standard input`,
    );
  return value;
}

export interface CommandDefinition<N extends Tokens, O extends TObject> {
  /** One or two words: `seed`, `user create`. Unique over all plugins. */
  readonly name: string;
  readonly summary: string;
  /** Shown by `--help` after the summary. */
  readonly example?: string;
  /** Names of `options` passed by position, in order: `user promote NAME`. */
  readonly positional?: readonly string[];
  /** All options, including positional ones; `--admin-username` is the property `admin-username`. */
  readonly options: O;
  /**
   * Services the command uses; their plugins are started for it. A command that needs none, or only `Environment`, runs
   * without opening the data.
   */
  readonly needs?: N;
  /** To fail, throw an error whose message is one clear line. */
  run(services: Services<N>, options: Static<O>, console: Console): Promise<void> | void;
}

/** A command of a plugin. `any` because a list of commands mixes types; `defineCommand` checks each one. */
export type Command = CommandDefinition<any, any>;

/** Used in place of an account id as the actor when someone with shell access to the server ran a command. */
export const commandLine = 'command line';

/**
 * Raised when one of the kernel's own commands changes a setting or a plugin, or backs up the site. `stayed`: an
 * operation announced before has failed. Raised in the transaction of the change; beforehand when plugins start or
 * stop, which no transaction covers; and after a backup.
 */
export const operated = defineAction<{
  readonly done: 'set' | 'enabled' | 'disabled' | 'installed' | 'removed' | 'uninstalled' | 'stayed' | 'backed-up';
  /** The key of the setting, the id of the plugin or the path of the backup; never a value. */
  readonly subject: string;
  /** Plugins that stop along with it. */
  readonly others?: readonly string[];
}>('kernel.operated');

/**
 * Defines an operator's command, run from a shell as `npm run parley -- <name>`. It is executed by the server if one is
 * running.
 */
export function defineCommand<N extends Tokens = {}, O extends TObject = TObject<{}>>(
  definition: CommandDefinition<N, O>,
): Command {
  return definition;
}
