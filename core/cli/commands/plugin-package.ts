import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { App } from '../../host/app.ts';
import { checkFit, findLocation, idOf, VERSION } from '../../host/loader.ts';
import { SITE } from '../../host/site.ts';
import { ConfigurationError, messageOf, PluginError } from '../../errors.ts';
import type { Plugin } from '../../plugins/definition.ts';
import { Type } from '../../schema.ts';
import { defineCommand, operated, type Console } from '../command.ts';
import { addToConfiguration, isConfigured, removeFromConfiguration } from '../configuration-file.ts';
import { npm } from '../npm.ts';
import { Program } from '../program.ts';
import { inRepository } from '../scaffold.ts';

type Dependencies = Readonly<Record<string, string>>;

/** Packages are installed beside this program's repository, not into it: npm would look for their peer elsewhere. */
function refuseRepository(): void {
  if (inRepository())
    throw new ConfigurationError(
      'Packages are installed into a site, and this is the program itself; make a site beside it with: npm run parley -- new ../site',
    );
}

const dependencies = (): Dependencies =>
  (JSON.parse(readFileSync(join(SITE, 'package.json'), 'utf8')) as { dependencies?: Dependencies }).dependencies ?? {};

/** What the package that npm just installed is called: its entry is new, or the one that the words name. */
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

/** Puts things back as they were before a package that turned out to be of no use. */
async function goBack(name: string, before: Dependencies, console: Console): Promise<void> {
  const spec = before[name];
  await npm(
    SITE,
    spec === undefined ? ['uninstall', name] : ['install', spec.startsWith('file:') ? spec : `${name}@${spec}`],
    console,
  );
}

/** Throws why the package is no plugin for this program. */
function checkPackage(name: string): void {
  const at = findLocation(SITE, name);
  if (!at?.package) throw new PluginError(idOf(name), 'is not there after npm installed it');
  checkFit(at.id, at.package, VERSION);
}

/** Carried out in the running server where there is one: the plugin then answers at once. */
export const pluginAdd = defineCommand({
  name: 'plugin add',
  summary: 'Installs a plugin from npm, a tarball or a folder, or another version of one, and switches it on.',
  example: 'plugin add parley-plugin-polls',
  positional: ['spec'],
  options: Type.Object({
    spec: Type.String({ description: 'A package as npm names it: NAME, NAME@VERSION, a tarball or a folder' }),
  }),
  needs: { app: Program },
  async run({ app }, { spec }, console) {
    refuseRepository();
    const before = dependencies();
    const target = existsSync(resolve(SITE, spec)) ? resolve(SITE, spec) : spec;
    if (target !== spec && statSync(target).isDirectory() && !existsSync(join(target, 'package.json')))
      throw new ConfigurationError(`${spec} has no package.json`);
    await npm(SITE, ['install', target], console);
    const name = installedName(target, before);
    const listed = isConfigured(SITE, name);
    try {
      checkPackage(name);
      if (!listed) await addToConfiguration(SITE, name);
      const plugin = await app.installer.install(name);
      await enable(app, plugin);
      console.print(`${plugin.id} ${plugin.version} is installed and on.`);
    } catch (error) {
      if (!listed) await removeFromConfiguration(SITE, name);
      await goBack(name, before, console);
      throw new ConfigurationError(`${messageOf(error)}\nEverything is as it was before.`, { cause: error });
    }
  },
});

/** One that was switched off earlier is switched on: somebody just asked for it. */
async function enable(app: App, { id }: Plugin): Promise<void> {
  await app.hooks.emit(operated, { done: 'installed', subject: id });
  if (app.kernel.state(id) !== 'active') await app.plugins.enable(id);
}

export const pluginRemove = defineCommand({
  name: 'plugin remove',
  summary: 'Takes a plugin’s package out of the site. What it stored stays, unless --data is given.',
  example: 'plugin remove polls',
  positional: ['name'],
  options: Type.Object({
    name: Type.String({ description: 'The plugin’s id, or its package’s name' }),
    data: Type.Boolean({ default: false, description: 'Remove its tables, settings and waiting work, too' }),
  }),
  needs: { app: Program },
  async run({ app }, { name, data }, console) {
    refuseRepository();
    const { id, package: from } = app.installer.find(name) ?? {};
    if (id === undefined || from === undefined)
      throw new ConfigurationError(
        `"${name}" is no plugin that npm installed; \`plugin list\` names those. Folders below plugins/ are removed by hand.`,
      );
    const { required, dependents = [] } = app.plugins.list().find((plugin) => plugin.id === id)!;
    if (required)
      throw new ConfigurationError(`"${id}" cannot be removed: config/forum.ts lists it under \`required\``);
    if (dependents.length > 0)
      throw new ConfigurationError(`"${id}" is needed by ${dependents.join(', ')}; remove those first`);
    await app.hooks.emit(operated, { done: 'removed', subject: id });
    if (data) {
      await app.plugins.disable(id);
      await app.plugins.uninstall(id);
    }
    await removeFromConfiguration(SITE, from);
    await app.installer.remove(id);
    await npm(SITE, ['uninstall', from], console);
    console.print(`${id} is removed${data ? ', with its data' : '; what it stored is kept'}.`);
  },
});
