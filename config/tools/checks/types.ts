import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';
import { readFiles } from './support/files.ts';

const COMPILER = 'typescript-native/bin/tsc';
const BROWSER = 'config/tools/tsconfig.browser.json';
/** Packages of their own, which find this program as its packed form would be found. */
const EXAMPLES = 'config/tools/tsconfig.examples.json';

/** The server's and the browser's TypeScript compile, each against its own library of globals, and the examples do. */
export const types: Check = {
  name: 'types',
  async run(root) {
    const scripts = readFiles(
      root,
      ['core', 'plugins', 'themes'],
      /^(core\/host\/development\/client|plugins\/[^/]+\/client|themes\/[^/]+\/assets)\/.*\.ts$/,
    );
    const examples = readFiles(root, ['docs/examples'], /\.ts$/);
    // The compiler calls an empty project an error; a forum without scripts of its own is none.
    const projects = [
      'tsconfig.json',
      ...(scripts.length > 0 && existsSync(join(root, BROWSER)) ? [BROWSER] : []),
      ...(examples.length > 0 && existsSync(join(root, EXAMPLES)) ? [EXAMPLES] : []),
    ];
    const results = await Promise.all(projects.map((project) => compile(root, project)));
    return results.flat();
  },
};

/** The compiler's complaints about one project, a line each. */
export async function compile(root: string, project: string): Promise<readonly string[]> {
  const { code, output, errors } = await runTool(COMPILER, ['--noEmit', '--pretty', 'false', '-p', project], root);
  if (code === 0) return [];
  const lines = `${output}${errors}`.split('\n').filter((line) => /\berror TS\d+/.test(line));
  return lines.length > 0
    ? lines
    : [`${project}: the compiler ended with code ${code}: ${`${output}${errors}`.trim()}`];
}
