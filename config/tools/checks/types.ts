import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';
import { readFiles } from './support/files.ts';

const COMPILER = 'typescript-native/bin/tsc';
const BROWSER = 'config/tools/tsconfig.browser.json';
/** The examples are separate packages, which resolve this program as they would resolve the published package. */
const EXAMPLES = 'config/tools/tsconfig.examples.json';

/**
 * The TypeScript of the server and of the browser must compile, each with its own global types, and so must the
 * examples.
 */
export const types: Check = {
  name: 'types',
  async run(root) {
    const scripts = readFiles(
      root,
      ['core', 'plugins', 'themes'],
      /^(core\/host\/development\/client|plugins\/[^/]+\/client|themes\/[^/]+\/assets)\/.*\.ts$/,
    );
    const examples = readFiles(root, ['docs/examples'], /\.ts$/);
    // The compiler rejects an empty project, but a forum may have no browser scripts of its own.
    const projects = [
      'tsconfig.json',
      ...(scripts.length > 0 && existsSync(join(root, BROWSER)) ? [BROWSER] : []),
      ...(examples.length > 0 && existsSync(join(root, EXAMPLES)) ? [EXAMPLES] : []),
    ];
    const results = await Promise.all(projects.map((project) => compile(root, project)));
    return results.flat();
  },
};

/** The compiler errors of one project, one per line. */
export async function compile(root: string, project: string): Promise<readonly string[]> {
  const { code, output, errors } = await runTool(COMPILER, ['--noEmit', '--pretty', 'false', '-p', project], root);
  if (code === 0) return [];
  const lines = `${output}${errors}`.split('\n').filter((line) => /\berror TS\d+/.test(line));
  return lines.length > 0
    ? lines
    : [`${project}: the compiler ended with code ${code}: ${`${output}${errors}`.trim()}`];
}
