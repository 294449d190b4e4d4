import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** The root of the repository. */
const ROOT = resolve(import.meta.dirname, '../..');

const CONFIGURATION = [
  'package.json',
  'tsconfig.json',
  '.oxlintrc.json',
  '.oxfmtrc.json',
  '.dependency-cruiser.mjs',
  'config/tools/tsconfig.browser.json',
  'config/tools/knip.jsonc',
];

/** A small temporary tree with the repository's configuration and the given files; removed when disposed. */
export function plant(files: Readonly<Record<string, string>>): { readonly root: string } & Disposable {
  const root = mkdtempSync(join(tmpdir(), 'parley-planted-'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const write = (path: string, put: (to: string) => void): void => {
    const to = join(root, path);
    mkdirSync(dirname(to), { recursive: true });
    put(to);
  };
  for (const path of CONFIGURATION) write(path, (to) => cpSync(join(ROOT, path), to));
  for (const [path, text] of Object.entries(files)) write(path, (to) => writeFileSync(to, text));
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}
