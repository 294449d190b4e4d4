import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorLines } from '../../core/cli/error-lines.ts';
import { loadPlugin, loadPlugins } from '../../core/host/loader.ts';
import { readConfiguration } from '../../core/host/site.ts';
import { chainOf, PluginError } from '../../core/errors.ts';

/** A site into which packages are installed as npm does. */
let site: string;
beforeAll(async () => {
  site = await mkdtemp(join(tmpdir(), 'parley-loader-'));
  await writeFile(join(site, 'package.json'), '{"name":"site","type":"module"}');
});
afterAll(() => rm(site, { recursive: true, force: true }));

async function install(manifest: object): Promise<void> {
  const folder = join(site, 'node_modules/parley-plugin-rattle');
  await rm(folder, { recursive: true, force: true });
  const whole = {
    name: 'parley-plugin-rattle',
    version: '1.0.0',
    type: 'module',
    parley: { plugin: './plugin.js' },
    peerDependencies: { 'parley-forum': '>=0.0.0' },
    ...manifest,
  };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify(whole));
  await writeFile(join(folder, 'plugin.js'), "export default { id: 'rattle', setup() {} };");
}

test('a package is loaded under the id in its name', async () => {
  await install({});
  expect(await loadPlugin(site, 'parley-plugin-rattle')).toMatchObject({
    id: 'rattle',
    version: '1.0.0',
    package: 'parley-plugin-rattle',
  });
});

test.each([
  ['was made for other versions', { peerDependencies: { 'parley-forum': '^99.0.0' } }, /\^99\.0\.0/],
  ['does not declare compatible versions', { peerDependencies: {} }, /does not declare which versions/],
  ['does not declare its plugin module', { parley: {} }, /does not declare which of its modules/],
])('a package that %s is refused with the reason', async (_why, manifest, reason) => {
  await install(manifest);
  await expect(loadPlugin(site, 'parley-plugin-rattle')).rejects.toThrow(reason);
});

test('a plugin that cannot be loaded is listed with the reason, and logged on one line that names it once', async () => {
  let said = '';
  const [ghost] = await loadPlugins(site, ['parley-plugin-ghost'], errorLines({ write: (text) => (said += text) }));
  expect(ghost).toMatchObject({ id: 'ghost', fault: expect.any(PluginError) });
  expect(said).toMatch(
    /^\[ghost\] could not be loaded: was not found: there is neither a folder plugins\/parley-plugin-ghost .*\n$/,
  );
});

test('an error that already contains its cause does not repeat it', () => {
  const cause = new PluginError('rattle', 'lacks a string');
  expect(chainOf(new Error('does not play: lacks a string', { cause }))).toBe('does not play: lacks a string');
  expect(chainOf(new Error('does not play', { cause }))).toBe('does not play ← [rattle] lacks a string');
});

test('a plugin that imports a missing contract is shown where contracts are', async () => {
  const folder = join(site, 'plugins/tin');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'plugin.js'), "import 'parley-forum/plugins/rattle';");
  await expect(loadPlugin(site, 'tin')).rejects.toThrow(
    /imports "parley-forum\/plugins\/rattle".*same site is \.\.\/rattle\/api\.ts/,
  );
});

test('a plugin with a setting whose default is invalid is refused, with key and reason', async () => {
  const folder = join(site, 'plugins/brass');
  await mkdir(folder, { recursive: true });
  const settings = { properties: { 'brass.size': { type: 'integer', default: 'ten' } } };
  await writeFile(
    join(folder, 'plugin.js'),
    `export default { id: 'brass', settings: ${JSON.stringify(settings)}, setup() {} };`,
  );
  await expect(loadPlugin(site, 'brass')).rejects.toThrow(
    '[brass] defines the setting "brass.size" with an invalid default: must be integer',
  );
});

test('a reinstalled package is loaded with its current migrations', async () => {
  await install({});
  const folder = join(site, 'node_modules/parley-plugin-rattle/migrations');
  const write = (name: string) => writeFile(join(folder, '0001-create.js'), `export default class ${name} {}`);
  await mkdir(folder);
  await write('Wrong');
  expect((await loadPlugin(site, 'parley-plugin-rattle')).migrations?.map(({ name }) => name)).toEqual(['Wrong']);
  await write('Mended');
  expect((await loadPlugin(site, 'parley-plugin-rattle', 1)).migrations?.map(({ name }) => name)).toEqual(['Mended']);
});

test.each([
  ["export default { plugins: ['cache',", /config\/forum\.ts cannot be read: .* \(config\/forum\.ts:\d+\)$/],
  ['export const forum = {};', /forum\.ts must have as its default export an object such as/],
  ["export default { plugins: 'cache' };", /forum\.ts needs plugins: a list/],
  ["export default { plugins: ['cache', 5], required: [] };", /forum\.ts lists 5 among its plugins/],
  ['export default { plugins: [] };', /forum\.ts needs required: a list/],
  ['export default { plugins: [], required: [], setings: {} };', /has "setings", .*; did you mean "settings"\?$/],
])('a configuration that is %j is refused in one line that says what to write', async (text, reason) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-configuration-'));
  await mkdir(join(folder, 'config'));
  await writeFile(join(folder, 'config/forum.ts'), text);
  await expect(readConfiguration(folder)).rejects.toThrow(reason);
  await rm(folder, { recursive: true });
});
