import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { App } from '../../host/app.ts';
import { checkFit, findLocation, idOf, PACKAGE, VERSION } from '../../host/loader.ts';
import { RUN, SITE } from '../../host/site.ts';
import { ConfigurationError, didYouMean, messageOf, PluginError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { defineCommand, operated, type Console } from '../command.ts';
import { addToConfiguration, isConfigured, removeFromConfiguration } from '../configuration-file.ts';
import { lineIn } from '../error-lines.ts';
import { npm } from '../npm.ts';
import { Program } from '../program.ts';
import { inRepository } from '../scaffold.ts';
import { operate } from './operation.ts';

type Dependencies = Readonly<Record<string, string>>;

/**
 * Packages cannot be installed into the program's own repository: npm would resolve their peer dependency elsewhere.
 */
function refuseRepository(): void {
  if (inRepository())
    throw new ConfigurationError(
      'Packages are installed into a site, and this is the program itself; create a site next to it with: npm run parley -- new ../site',
    );
}

const dependencies = (): Dependencies =>
  (JSON.parse(readFileSync(join(SITE, 'package.json'), 'utf8')) as { dependencies?: Dependencies }).dependencies ?? {};

/** The name of the package that npm just installed: the new entry, or the existing one that `spec` refers to. */
function installedName(spec: string, before: Dependencies): string {
  const changed = Object.entries(dependencies()).filter(([name, value]) => before[name] !== value);
  if (changed.length === 1) return changed[0]![0];
  const path = resolve(spec);
  const known = Object.entries(dependencies()).find(
    ([, value]) => value.startsWith('file:') && resolve(SITE, value.slice(5)) === path,
  );
  if (known) return known[0];
  return spec.replace(/(?<=.)@[^@/]*$/, '');
}

/** Restores the dependency as it was before a package that turned out to be unusable. */
async function goBack(name: string, before: Dependencies, console: Console): Promise<void> {
  const spec = before[name];
  await npm(
    SITE,
    spec === undefined ? ['uninstall', name] : ['install', spec.startsWith('file:') ? spec : `${name}@${spec}`],
    console,
  );
}

/** npm's message for a package made for another version of this program. */
const PEER = /peer parley-forum@"([^"]+)" from (\S+)@(\S+)/;

/**
 * Installs a package with npm. If that fails because of its version range, throws the error of `checkFit` instead of
 * npm's.
 */
async function installPackage(spec: string, console: Console): Promise<void> {
  try {
    await npm(SITE, ['install', spec], console);
  } catch (error) {
    const [, range, name, version] = PEER.exec(messageOf(error)) ?? [];
    if (range && name && version)
      checkFit(idOf(name), { name, version, peerDependencies: { [PACKAGE]: range } }, VERSION);
    throw error;
  }
}

/**
 * Explains why the package cannot be used: the plugin at fault and the place in its package, unless the message already
 * says so.
 */
function reasonOf(name: string, error: unknown): string {
  const why = messageOf(error);
  if (!(error instanceof Error) || why.startsWith('[')) return why;
  return `[${idOf(name)}] ${why}${lineIn(findLocation(SITE, name)?.folder ?? name, error)}`;
}

/** Throws if the package is not a plugin for this program. */
function checkPackage(name: string): void {
  const at = findLocation(SITE, name);
  if (!at?.package) throw new PluginError(idOf(name), 'was not found after npm installed it');
  checkFit(at.id, at.package, VERSION);
}

/** Runs in the server if one is running: the plugin is then available at once. */
export const pluginAdd = defineCommand({
  name: 'plugin add',
  summary: 'Installs a plugin, or another version of one, from npm, a tarball or a folder, and switches it on.',
  example: 'plugin add parley-plugin-polls',
  positional: ['spec'],
  options: Type.Object({
    spec: Type.String({ description: 'A package specifier for npm: NAME, NAME@VERSION, a tarball or a folder' }),
  }),
  needs: { app: Program },
  async run({ app }, { spec }, console) {
    refuseRepository();
    const before = dependencies();
    const target = existsSync(resolve(SITE, spec)) ? resolve(SITE, spec) : spec;
    if (target !== spec && statSync(target).isDirectory() && !existsSync(join(target, 'package.json')))
      throw new ConfigurationError(
        `${spec} has no package.json; the site’s own plugins are folders in plugins/ with their ids in config/forum.ts, and are loaded on the next start`,
      );
    await installPackage(target, console);
    const name = installedName(target, before);
    const listed = isConfigured(SITE, name);
    try {
      checkPackage(name);
      if (!listed) await addToConfiguration(SITE, name);
      const { id, version } = await app.installer.install(name);
      // If the plugin used to be a folder, which is gone, the package replaces its entry.
      if (id !== name) await removeFromConfiguration(SITE, id);
      await app.hooks.emit(operated, { done: 'installed', subject: id });
      console.print(`${id} ${version} is installed and on.`);
    } catch (error) {
      if (!listed) await removeFromConfiguration(SITE, name);
      await goBack(name, before, console);
      throw new ConfigurationError(`${reasonOf(name, error)}\nAll changes were undone.`, { cause: error });
    }
  },
});

/** Throws an error that suggests alternatives if `name` is not an installed package. */
function findPackage({ installer, kernel }: App, name: string): { readonly id: string; readonly from: string } {
  const { id, package: from } = installer.find(name) ?? {};
  if (id !== undefined && from !== undefined) return { id, from };
  if (id !== undefined)
    throw new ConfigurationError(
      `"${id}" is not a package; remove its id from config/forum.ts, and delete its folder if it belongs to the site. To also remove its data, first run: ${RUN} plugin disable ${id}, then ${RUN} plugin uninstall ${id}`,
    );
  const packages = kernel.graph.all().filter((plugin) => plugin.package !== undefined);
  const ids = packages.map((plugin) => plugin.id);
  const names = [...ids, ...packages.map((plugin) => plugin.package!)];
  const otherwise = ids.length > 0 ? `this site has ${ids.join(', ')}` : 'this site has none';
  throw new ConfigurationError(`"${name}" is not a plugin installed by npm; ${didYouMean(name, names, otherwise)}`);
}

/** If its data cannot be removed, the plugin is started again. */
async function removeData({ plugins, kernel }: App, id: string): Promise<void> {
  const ran = kernel.state(id) === 'active';
  await plugins.disable(id);
  try {
    await plugins.uninstall(id);
  } catch (error) {
    if (ran) await plugins.enable(id);
    throw error;
  }
}

export const pluginRemove = defineCommand({
  name: 'plugin remove',
  summary: 'Removes a plugin’s package from the site. Its data is kept unless --data is given.',
  example: 'plugin remove polls',
  positional: ['name'],
  options: Type.Object({
    name: Type.String({ description: 'The plugin’s id or its package name' }),
    data: Type.Boolean({ default: false, description: 'Also remove its tables, settings and pending jobs' }),
  }),
  needs: { app: Program },
  async run({ app }, { name, data }, console) {
    refuseRepository();
    const { id, from } = findPackage(app, name);
    const { required, dependents = [] } = app.plugins.list().find((plugin) => plugin.id === id)!;
    if (required)
      throw new ConfigurationError(`"${id}" cannot be removed: config/forum.ts lists it under \`required\``);
    if (dependents.length > 0)
      throw new ConfigurationError(`"${id}" is needed by ${dependents.join(', ')}; remove those first`);
    await operate(app, { done: 'removed', id }, async () => {
      if (data) await removeData(app, id);
      await removeFromConfiguration(SITE, from);
    });
    await app.installer.remove(id);
    await npm(SITE, ['uninstall', from], console);
    console.print(
      data
        ? `${id} is removed, with its data.`
        : `${id} is removed; its data is kept. To remove that, too, add the plugin again and run: ${RUN} plugin remove ${id} --data`,
    );
  },
});
