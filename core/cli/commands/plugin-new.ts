import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { defineCommand, type Console } from '../command.ts';
import { addToConfiguration } from '../configuration-file.ts';
import { ConfigurationError } from '../../errors.ts';
import { Type } from '../../schema.ts';
import { PROGRAM, RUN, SITE } from '../../host/site.ts';
import { checkId, inRepository, spellings, templateOf, toolVersions, writeTemplate } from '../scaffold.ts';

/** Folders of a new plugin's sources, migrations and test. */
interface Layout {
  readonly source: string;
  readonly migrations: string;
  readonly test: string;
  /** Relative path from the test to the sources. */
  readonly above: string;
}

/** In the program's own repository, migrations and tests have separate folders. */
const repository = (id: string): Layout => ({
  source: `plugins/${id}`,
  migrations: `migrations/${id}`,
  test: `test/plugins/${id}`,
  above: `../../../plugins/${id}`,
});
const ofSite = (id: string): Layout => ({
  source: `plugins/${id}`,
  migrations: `plugins/${id}/migrations`,
  test: `plugins/${id}/test`,
  above: '..',
});
const ofPackage = (): Layout => ({ source: 'src', migrations: 'src/migrations', test: 'test', above: '../src' });

/**
 * Writes the files of a new plugin below `root` and adds its id to config/forum.ts. Throws before writing anything if
 * the id is not usable.
 */
export async function scaffold(root: string, id: string, console: Pick<Console, 'print'>): Promise<void> {
  checkFree(id);
  const layout = root === PROGRAM || existsSync(join(root, 'core')) ? repository(id) : ofSite(id);
  const taken = [layout.source, layout.migrations, layout.test].find((folder) => existsSync(join(root, folder)));
  if (taken) throw new ConfigurationError(`${taken} already exists; choose another id`);
  const configuration = await addToConfiguration(root, id);
  for (const path of await writePlugin(root, id, layout, '')) console.print(`wrote ${path}`);
  console.print(`added '${id}' to ${configuration}`);
}

/** Throws for an invalid id and for the id of one of the program's plugins, which the new plugin would replace. */
function checkFree(id: string): void {
  checkId(id);
  if (existsSync(join(PROGRAM, 'plugins', id)))
    throw new ConfigurationError(`Parley already has a plugin "${id}"; choose another id`);
}

function writePlugin(root: string, id: string, layout: Layout, also: string): Promise<readonly string[]> {
  const { source, migrations, test, above } = layout;
  const places = [
    [`plugins/${id}/`, source],
    [`migrations/${id}/`, migrations],
    [`test/plugins/${id}/`, test],
  ] as const;
  return writeTemplate(templateOf('plugin'), root, { ...spellings(id), source: above, also, migrations }, (path) => {
    const [prefix, folder] = places.find(([start]) => path.startsWith(start))!;
    // The README of a package belongs in its root folder.
    return source === 'src' && path.endsWith('README.md') ? 'README.md' : `${folder}/${path.slice(prefix.length)}`;
  });
}

/** Writes a separate package into the working directory: `parley-plugin-polls` for the id `polls`. */
async function scaffoldPackage(id: string, console: Pick<Console, 'print'>): Promise<void> {
  checkFree(id);
  const name = `parley-plugin-${id}`;
  const folder = resolve(name);
  if (existsSync(folder)) throw new ConfigurationError(`${name} already exists; choose another id`);
  const files = [
    ...(await writeTemplate(templateOf('package'), folder, { id, ...toolVersions(folder) })),
    ...(await writePlugin(folder, id, ofPackage(), '{ also: [process.cwd()] }')),
  ];
  for (const path of files) console.print(`wrote ${name}/${path}`);
  console.print(`\nTry it: cd ${name} && npm install && npm test\nPack it for others to install: npm run pack`);
}

/**
 * Runs in a separate process, which reads the configuration with the new plugin in it. If the project's tools are not
 * installed, prints how to do it.
 */
async function writeReference(root: string, console: Pick<Console, 'print'>): Promise<void> {
  const script =
    "const { writeReference } = await import('./config/tools/reference.ts'); await writeReference(process.cwd());";
  const done = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
  }).then(
    () => true,
    () => false,
  );
  console.print(
    done
      ? 'regenerated docs/reference'
      : 'docs/reference does not include the plugin yet; regenerate it with: npm run check -- --write',
  );
}

/** Needs no data, so it works while a server is running; the server loads the plugin on its next start. */
export const pluginNew = defineCommand({
  name: 'plugin new',
  summary: 'Creates a small working plugin with a test, as a starting point.',
  example: 'plugin new polls',
  positional: ['id'],
  options: Type.Object({
    id: Type.String({ description: 'Lower-case words joined by "-"; also the folder’s name' }),
    package: Type.Boolean({ default: false, description: 'Create a separate npm package, to be published' }),
  }),
  async run(_services, { id, package: asPackage }, console) {
    if (asPackage) return scaffoldPackage(id, console);
    await scaffold(SITE, id, console);
    if (inRepository()) await writeReference(SITE, console);
    console.print(
      `\nTry it: npm test -- ${id}\nnpm run dev runs it while you edit it; any other server loads it on its next start. ${RUN} plugin disable ${id} switches it off again.`,
    );
  },
});
