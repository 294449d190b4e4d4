import { existsSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from '../environment.ts';
import { ConfigurationError } from '../errors.ts';
import type { Plugin } from '../plugins/definition.ts';

/** What config/forum.ts exports. */
export interface SiteConfiguration {
  /**
   * In start order: ids of folders below plugins/, of the site or of the program; names of npm packages; or plugins
   * themselves.
   */
  readonly plugins: readonly (string | Plugin)[];
  /** Ids that can never be switched off from the panel; safe mode starts only these and what they need. */
  readonly required: readonly string[];
  /** First defaults by dotted key; the database wins afterwards. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** The program's own folder: its core/, plugins/, themes/ and migrations/ lie in it. */
export const PROGRAM = resolve(import.meta.dirname, '../..');

/** `.ts` where the program runs from its sources, `.js` where it was built. */
export const EXTENSION = extname(import.meta.filename);
/** How commands are started, where the program was installed and in its repository; every hint repeats it. */
export const RUN = EXTENSION === '.js' ? 'npx parley' : 'npm run parley --';

/**
 * The site's folder: its configuration, its own plugins/ and themes/, and the packages that were installed for it.
 * PARLEY_SITE names it, else it is the working directory if a configuration lies there, else the program's folder.
 */
export const SITE = resolve(
  process.env['PARLEY_SITE'] ?? (configurationFile(process.cwd()) === undefined ? PROGRAM : process.cwd()),
);

/** The configuration of a site as a file; undefined where there is none. */
export function configurationFile(site: string): string | undefined {
  return ['ts', 'js'].map((extension) => join(site, `config/forum.${extension}`)).find(existsSync);
}

/** Throws `ConfigurationError` where the site has none. */
export async function readConfiguration(site: string): Promise<SiteConfiguration> {
  const file = configurationFile(site);
  if (file === undefined)
    throw new ConfigurationError(`There is no config/forum.ts in ${site}; make a site with: npx parley new .`);
  return ((await import(pathToFileURL(file).href)) as { default: SiteConfiguration }).default;
}

/** What reads the environment variables. */
export const ENVIRONMENT = join(PROGRAM, `config/environment${EXTENSION}`);

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws `ConfigurationError` with every problem. */
export async function readEnvironment(variables: Variables = process.env): Promise<Environment> {
  const module = (await import(pathToFileURL(ENVIRONMENT).href)) as { readEnvironment(from: Variables): Environment };
  return module.readEnvironment(variables);
}
