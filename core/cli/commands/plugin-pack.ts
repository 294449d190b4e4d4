import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkFit, idOf, VERSION, type PackageManifest } from '../../host/loader.ts';
import { ConfigurationError, messageOf } from '../../errors.ts';
import { faultOf, type Plugin } from '../../plugins/definition.ts';
import { Type } from '../../schema.ts';
import { badDefault } from '../../settings.ts';
import { defineCommand } from '../command.ts';
import { compile } from '../compiler.ts';
import { lineIn } from '../error-lines.ts';
import { npm } from '../npm.ts';

interface Manifest extends PackageManifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly type?: string;
}
/** The output of `npm pack --json` for one package. */
interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** TypeScript sources: Node refuses to strip types inside node_modules. */
const SOURCE = /(?<!\.d)\.ts$/;

/** Everything that would keep the package from working once installed, one line each. */
async function problemsOf(folder: string, manifest: Manifest, files: readonly string[]): Promise<readonly string[]> {
  const module = manifest.parley?.plugin;
  const problems: string[] = [];
  try {
    checkFit(idOf(manifest.name), manifest, VERSION);
  } catch (error) {
    problems.push(messageOf(error));
  }
  if (manifest.type !== 'module') problems.push('package.json needs "type": "module"');
  if (manifest.dependencies?.['parley-forum'] !== undefined)
    problems.push(
      'parley-forum is listed under "dependencies": move it to "peerDependencies", or the package brings its own copy',
    );
  if (module === undefined) return [...problems, 'package.json needs "parley": { "plugin": "./dist/plugin.js" }'];
  const path = module.replace(/^\.\//, '');
  if (!files.includes(path))
    return [...problems, `${path} is not in the package: build it, and list its folder under "files"`];
  // Client modules are built by the site that serves them, so they are shipped as TypeScript.
  for (const file of files.filter((one) => SOURCE.test(one) && !one.startsWith('client/')))
    problems.push(`${file} is TypeScript, which Node does not run inside node_modules: exclude it under "files"`);
  let plugin: Plugin | undefined;
  try {
    ({ default: plugin } = (await import(pathToFileURL(join(folder, path)).href)) as { default?: Plugin });
  } catch (error) {
    return [...problems, `${path} cannot be imported: ${messageOf(error)}${lineIn(folder, error)}`];
  }
  if (!plugin?.id || !plugin.setup) return [...problems, `${path} has no \`export default definePlugin({ id, … })\``];
  const fault = faultOf(plugin) ?? badDefault(plugin.id, plugin.settings);
  return fault ? [...problems, fault.message] : problems;
}

export const pluginPack = defineCommand({
  name: 'plugin pack',
  summary: 'Builds, checks and packs the plugin package in the working directory.',
  options: Type.Object({}),
  async run(_services, _options, console) {
    const folder = resolve('.');
    const file = join(folder, 'package.json');
    if (!existsSync(file))
      throw new ConfigurationError('There is no package.json here; change to the folder of a plugin’s package');
    for (const project of ['tsconfig.json', 'tsconfig.client.json']) {
      if (!existsSync(join(folder, project))) continue;
      const errors = await compile(folder, project);
      if (errors.length > 0) throw new ConfigurationError(`It does not compile:\n${errors.join('\n')}`);
    }
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
    const [packed] = JSON.parse(await npm(folder, ['pack', '--json'], console)) as readonly [Packed];
    const files = packed.files.map(({ path }) => path);
    const problems = await problemsOf(folder, manifest, files);
    if (problems.length > 0) {
      // The broken package must not be published.
      await rm(join(folder, packed.filename), { force: true });
      throw new ConfigurationError(`${packed.filename} would not work once installed:\n${problems.join('\n')}`);
    }
    console.print(
      `${packed.filename}: ${files.length} files, ${(packed.size / 1_000).toFixed(1)} kB. Try it in a site: npx parley plugin add ${join(folder, packed.filename)}`,
    );
  },
});
