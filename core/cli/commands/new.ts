import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { defineCommand } from '../command.ts';
import { ConfigurationError } from '../../errors.ts';
import { configurationFile } from '../../host/site.ts';
import { Type } from '../../schema.ts';
import { npm } from '../npm.ts';
import {
  defaultConfiguration,
  readTemplate,
  startScript,
  templateOf,
  toolVersions,
  writeTemplate,
} from '../scaffold.ts';

/** `npx --package parley-forum parley new my-site`. An existing package.json keeps its entries. */
export const newSite = defineCommand({
  name: 'new',
  summary: 'Creates a site: a folder with a configuration that `npm start` runs.',
  example: 'new my-site',
  positional: ['folder'],
  options: Type.Object({
    folder: Type.String({ description: 'Where to create it; "." is the working directory' }),
    from: Type.Optional(
      Type.String({ description: 'What to install as parley-forum: a version, a tarball or a folder' }),
    ),
    install: Type.Boolean({ default: true, description: 'Run npm install in it' }),
  }),
  async run(_services, { folder, from, install }, console) {
    const site = resolve(folder);
    if (configurationFile(site))
      throw new ConfigurationError(`${join(site, 'config')} already contains a configuration`);
    await mkdir(join(site, 'config'), { recursive: true });
    const spec = from === undefined || !existsSync(from) ? from : `file:${resolve(from)}`;
    const name = basename(site)
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-');
    const names = { name, start: startScript(), ...toolVersions(site, spec) };
    await complete(join(site, 'package.json'), await readTemplate('site', 'package.json', names));
    const written = await writeTemplate(templateOf('site'), site, names);
    await writeFile(join(site, 'config/forum.ts'), defaultConfiguration(), { flag: 'wx' });
    for (const path of ['package.json', ...written, 'config/forum.ts']) console.print(`wrote ${path}`);
    if (install) await npm(site, ['install'], console);
    const enter = folder === '.' ? '' : `cd ${folder} && `;
    console.print(`\nRun it: ${enter}npm start\nOr try it with demo content first: ${enter}npm run demo`);
  },
});

/**
 * Writes a package.json, or adds the missing entries to an existing one; its objects are merged with the template's.
 */
async function complete(file: string, template: string): Promise<void> {
  const wanted = JSON.parse(template) as Record<string, object | string | boolean>;
  const before = existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as typeof wanted) : {};
  const both = { ...wanted, ...before };
  for (const [key, value] of Object.entries(wanted))
    if (typeof value === 'object') both[key] = { ...value, ...(before[key] as object | undefined) };
  await writeFile(file, `${JSON.stringify(both, undefined, 2)}\n`);
}
