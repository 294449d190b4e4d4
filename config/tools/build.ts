import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { runTool } from './checks/support/command.ts';
import { readPaths } from './checks/support/files.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

/** The parts of package.json that are read and written. */
interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Tools for working on a site or a plugin package: when one is created, their versions are read from here. */
const TOOLS = ['@types/node', 'typescript-native', 'vitest'];

/**
 * Writes dist/: the package as it is published, a copy of this tree with JavaScript, declarations and source maps
 * instead of TypeScript. `npm pack ./dist` packs it.
 */
async function build(): Promise<void> {
  await rm(DIST, { recursive: true, force: true });
  await compile('config/tools/tsconfig.build.json');
  await compile('config/tools/tsconfig.client.json');
  for (const path of readPaths(ROOT, ['core', 'plugins', 'themes', 'docs']))
    if (!path.endsWith('.ts') || /^(core\/host\/development\/client|plugins\/[^/]+\/client|themes|docs)\//.test(path))
      await copy(path);
  for (const path of ['README.md', 'CHANGELOG.md']) await copy(path);
  await copy('config/forum.ts', 'config/forum.ts.txt');
  await writeFile(join(DIST, 'package.json'), `${JSON.stringify(await manifest(), undefined, 2)}\n`);
  await chmod(join(DIST, 'core/cli/main.js'), 0o755);
}

async function compile(project: string): Promise<void> {
  const { code, output } = await runTool('typescript-native/bin/tsc', ['-p', project], ROOT);
  if (code !== 0) throw new Error(`${project} does not compile:\n${output}`);
}

async function copy(path: string, to = path): Promise<void> {
  await mkdir(dirname(join(DIST, to)), { recursive: true });
  await cp(join(ROOT, path), join(DIST, to));
}

/**
 * The package.json of the published package: it refers to compiled modules instead of sources and omits everything that
 * only this repository needs.
 */
async function manifest(): Promise<object> {
  const {
    private: _private,
    exports,
    scripts: { start },
    devDependencies,
    ...rest
  } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const compiled = (path: string): string | object =>
    path.endsWith('.ts') ? { types: path.replace(/\.ts$/, '.d.ts'), default: path.replace(/\.ts$/, '.js') } : path;
  return {
    ...rest,
    exports: Object.fromEntries(Object.entries(exports).map(([name, path]) => [name, compiled(path)])),
    bin: { parley: './core/cli/main.js' },
    scripts: { start: start?.replace('core/main.ts', 'core/main.js') },
    devDependencies: Object.fromEntries(TOOLS.map((name) => [name, devDependencies[name]])),
  };
}

await build();
