import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, relative } from 'node:path';
import {
  checkFit,
  findLocation,
  idOf,
  loadPlugin,
  notThere,
  requiredBy,
  VERSION,
  type PluginLocation,
} from '../../host/loader.ts';
import { assertContracts } from '../../plugins/fit.ts';
import type { Plugin } from '../../plugins/definition.ts';
import { EXTENSION, PROGRAM, readConfiguration, RUN, SITE } from '../../host/site.ts';
import { chainOf, ConfigurationError, didYouMean, messageOf } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { defineCommand } from '../command.ts';
import { compile } from '../compiler.ts';

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly (string | null)[];
}

/** How strictly plugins are checked; the same options that a new plugin is created with. */
const OPTIONS = {
  target: 'esnext',
  lib: ['esnext'],
  module: 'nodenext',
  types: ['node'],
  noEmit: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
};

/** Additional options for a plugin's browser modules. */
const CLIENT_OPTIONS = {
  lib: ['esnext', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  types: [],
  paths: {
    '@forum/client': [join(PROGRAM, `plugins/web/client/client${EXTENSION === '.ts' ? '.ts' : '.d.ts'}`)],
  },
};

/** The location of a plugin, or the error if its folder or package is missing or incomplete. */
function locate(name: string): PluginLocation | Error {
  try {
    return findLocation(SITE, name) ?? notThere(name);
  } catch (error) {
    return error instanceof Error ? error : new Error(messageOf(error));
  }
}

/** The plugins that do not belong to the program, by their names in the configuration. */
async function foreign(only: string | undefined): Promise<ReadonlyMap<string, PluginLocation | Error>> {
  const { plugins } = await readConfiguration(SITE);
  const names = plugins.filter((entry) => typeof entry === 'string');
  const found = new Map(
    names.flatMap((name) => {
      const at = locate(name);
      const own = !(at instanceof Error) && at.folder.startsWith(join(PROGRAM, 'plugins'));
      return own && name !== only ? [] : [[name, at] as const];
    }),
  );
  if (only === undefined) return found;
  const [name, at] =
    [...found].find(([entry, one]) => entry === only || idOf(entry) === only || idIn(one) === only) ?? [];
  if (!name || !at) {
    const known = [...found].flatMap(([entry, one]) => [idIn(one) ?? idOf(entry), entry]);
    throw new ConfigurationError(
      `config/forum.ts lists no plugin "${only}"; ${didYouMean(only, known, `see: ${RUN} plugin list`)}`,
    );
  }
  return new Map([[name, at]]);
}

const idIn = (at: PluginLocation | Error): string | undefined => (at instanceof Error ? undefined : at.id);

/** Modules that stay TypeScript even in a package whose other files are compiled. */
const BROWSER_MODULE = /^client\/.*(?<!\.d)\.ts$/;

/**
 * Copies the plugin's TypeScript to a separate folder, including its browser modules. Returns false if everything but
 * those is available as JavaScript only.
 */
async function copySources(at: PluginLocation, to: string): Promise<boolean> {
  const entries = await readdir(at.folder, { recursive: true });
  const wanted = (path: string): boolean =>
    !/(^|\/)(node_modules|client|test)\//.test(path) && !path.endsWith('.test.ts');
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await writeFile(join(to, path), text);
  };
  for (const path of entries.filter((entry) => BROWSER_MODULE.test(entry)))
    await write(path, await readFile(join(at.folder, path), 'utf8'));
  if (!at.package || at.module.endsWith('.ts')) {
    const own = entries.filter((path) => /(?<!\.d)\.ts$/.test(path) && wanted(path));
    for (const path of own) await write(path, await readFile(join(at.folder, path), 'utf8'));
    return own.length > 0;
  }
  let found = false;
  for (const path of entries.filter((entry) => entry.endsWith('.js.map') && wanted(entry))) {
    const { sources, sourcesContent = [] } = JSON.parse(await readFile(join(at.folder, path), 'utf8')) as SourceMap;
    for (const [index, source] of sources.entries()) {
      const text = sourcesContent[index];
      const place = normalize(join(dirname(path), source));
      if (typeof text !== 'string' || place.startsWith('..')) continue;
      await write(place, text);
      found = true;
    }
  }
  return found;
}

/** The incompatibilities by file and line; undefined if there are no sources to check. */
async function check(at: PluginLocation): Promise<readonly string[] | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-check-'));
  try {
    const complete = await copySources(at, folder);
    const projects = [
      ...(complete
        ? [['tsconfig.json', { compilerOptions: OPTIONS, exclude: ['client', 'node_modules'] }] as const]
        : []),
      ...(existsSync(join(folder, 'client'))
        ? [
            [
              'tsconfig.client.json',
              { compilerOptions: { ...OPTIONS, ...CLIENT_OPTIONS }, include: ['client'] },
            ] as const,
          ]
        : []),
    ];
    if (projects.length === 0) return undefined;
    await symlink(join(SITE, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const lines: string[] = [];
    for (const [name, project] of projects) {
      await writeFile(join(folder, name), JSON.stringify(project));
      lines.push(...(await compile(folder, name)));
    }
    if (!complete && lines.length === 0) return undefined;
    // Report the plugin's own files only: the program's files are checked in its own repository.
    return lines
      .filter((line) => !line.startsWith('..') && !line.startsWith(' '))
      .map((line) => join(relative(SITE, at.folder), line));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The plugins among these packages; peer dependencies may be other packages. */
async function installed(names: readonly string[]): Promise<readonly Plugin[]> {
  const { plugins } = await readConfiguration(SITE);
  return Promise.all(names.filter((name) => plugins.includes(name)).map((name) => loadPlugin(SITE, name)));
}

export const pluginCheck = defineCommand({
  name: 'plugin check',
  summary: 'Checks plugins that do not belong to Parley against the contracts of this version.',
  example: 'plugin check polls',
  positional: ['name'],
  options: Type.Object({
    name: Type.Optional(Type.String({ description: 'Check only this one: a plugin’s id or a package name' })),
  }),
  async run(_services, { name: only }, console) {
    let failed = 0;
    const plugins = await foreign(only);
    for (const [name, at] of plugins) {
      if (at instanceof Error) {
        failed++;
        console.print(`${name} cannot be checked:`);
        console.print(`  ${chainOf(at, idOf(name))}`);
        continue;
      }
      const problems: string[] = [];
      try {
        if (at.package) {
          checkFit(at.id, at.package, VERSION);
          const requires = requiredBy(at.package);
          assertContracts({ id: at.id, version: at.package.version, requires }, await installed(Object.keys(requires)));
        }
      } catch (error) {
        problems.push(messageOf(error));
      }
      const found = await check(at);
      problems.push(...(found ?? []));
      if (problems.length > 0) failed++;
      console.print(
        problems.length > 0
          ? `${name} is not compatible:`
          : found
            ? `${name} is compatible.`
            : `${name} contains only JavaScript; its version range is compatible.`,
      );
      for (const problem of problems) console.print(`  ${problem}`);
    }
    if (plugins.size === 0) console.print('There are only Parley’s own plugins.');
    if (failed > 0)
      throw new ConfigurationError(`${failed} of ${plugins.size} are not compatible with this version, ${VERSION}.`);
  },
});
