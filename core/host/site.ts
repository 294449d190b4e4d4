import { existsSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lineIn } from '../cli/error-lines.ts';
import type { Environment } from '../environment.ts';
import { ConfigurationError, didYouMean, messageOf } from '../errors.ts';
import type { Plugin } from '../plugins/definition.ts';

/** The default export of config/forum.ts. */
export interface SiteConfiguration {
  /**
   * In start order: ids of folders under plugins/, in the site or in the program; names of npm packages; or plugin
   * objects.
   */
  readonly plugins: readonly (string | Plugin)[];
  /** Ids of plugins that cannot be switched off from the panel; safe mode starts only these and what they need. */
  readonly required: readonly string[];
  /** Default settings by dotted key; stored values override them. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

const KEYS: readonly string[] = ['plugins', 'required', 'settings'] satisfies (keyof SiteConfiguration)[];

/** The program's own folder, containing its core/, plugins/, themes/ and migrations/. */
export const PROGRAM = resolve(import.meta.dirname, '../..');

/** `.ts` if the program runs from source, `.js` if it was built. */
export const EXTENSION = extname(import.meta.filename);
/**
 * How commands are run, depending on whether the program was installed or runs in its repository; repeated in every
 * hint.
 */
export const RUN = EXTENSION === '.js' ? 'npx parley' : 'npm run parley --';

/**
 * The site's folder: its configuration, its own plugins/ and themes/, and the packages installed for it. PARLEY_SITE
 * names it; otherwise it is the working directory if that has a configuration, or else the program's folder.
 */
export const SITE = resolve(
  process.env['PARLEY_SITE'] ?? (configurationFile(process.cwd()) === undefined ? PROGRAM : process.cwd()),
);

/** Path of a site's configuration file; undefined if there is none. */
export function configurationFile(site: string): string | undefined {
  return ['ts', 'js'].map((extension) => join(site, `config/forum.${extension}`)).find(existsSync);
}

/** Throws `ConfigurationError` if the site has no configuration, or one that cannot be used. */
export async function readConfiguration(site: string): Promise<SiteConfiguration> {
  const file = configurationFile(site);
  if (file === undefined)
    throw new ConfigurationError(`There is no config/forum.ts in ${site}; create a site with: npx parley new .`);
  const module = await import(pathToFileURL(file).href).catch((error: unknown) => {
    throw new ConfigurationError(`${file} cannot be read: ${messageOf(error)}${lineIn(site, error)}`, { cause: error });
  });
  const { default: configuration } = module as { default?: unknown };
  const problem = problemOf(configuration);
  if (problem !== undefined) throw new ConfigurationError(`${file} ${problem}`);
  return configuration as SiteConfiguration;
}

/** Why a configuration cannot be used, as the end of a sentence. Its `settings` are checked with those of plugins. */
function problemOf(configuration: unknown): string | undefined {
  if (typeof configuration !== 'object' || configuration === null)
    return 'must have as its default export an object such as { plugins: [ … ], required: [ … ], settings: { … } }';
  const { plugins, required } = configuration as Record<string, unknown>;
  if (!Array.isArray(plugins)) return 'needs plugins: a list of ids, package names or plugin objects';
  const strange = plugins.find(
    (entry) => typeof entry !== 'string' && typeof (entry as Plugin | null)?.id !== 'string',
  );
  if (strange !== undefined) return `lists ${JSON.stringify(strange)} among its plugins; write an id or a package name`;
  if (!Array.isArray(required)) return "needs required: a list of ids of plugins that stay on, such as ['admin']";
  const unknown = Object.keys(configuration).find((key) => !KEYS.includes(key));
  return unknown === undefined
    ? undefined
    : `has "${unknown}", which means nothing; ${didYouMean(unknown, KEYS, `it may have ${KEYS.join(', ')}`)}`;
}

/** The module that reads the environment variables. */
export const ENVIRONMENT = join(PROGRAM, `config/environment${EXTENSION}`);

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws `ConfigurationError` listing every problem. */
export async function readEnvironment(variables: Variables = process.env): Promise<Environment> {
  const module = (await import(pathToFileURL(ENVIRONMENT).href)) as { readEnvironment(from: Variables): Environment };
  return module.readEnvironment(variables);
}
