import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** A text file of the project. */
export interface SourceFile {
  /** Path relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const LEFT_OUT = new Set(['node_modules', 'data', 'coverage', 'dist', '.git']);

/**
 * The files below `folders` of `root` whose path relative to the root matches `pattern`, sorted by path; missing
 * folders count as empty.
 */
export function readFiles(root: string, folders: readonly string[], pattern: RegExp): readonly SourceFile[] {
  return readPaths(root, folders)
    .filter((path) => pattern.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** The paths of all files below `folders` of `root`, relative to the root and sorted. */
export function readPaths(root: string, folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) => walk(join(root, folder)))
    .map((file) => relative(root, file).replaceAll(sep, '/'))
    .sort();
}

/** The folder of ports, which lies beside the plugins' folders but is not a plugin. */
const PORTS = 'ports';

/** The names of the plugin folders of `root`, sorted. */
export const pluginFolders = (root: string): readonly string[] =>
  foldersIn(root, 'plugins').filter((name) => name !== PORTS);

/** The names of the folders directly below `folder` of `root`, sorted. */
function foldersIn(root: string, folder: string): readonly string[] {
  const from = join(root, folder);
  if (!existsSync(from)) return [];
  return readdirSync(from, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** Counts lines as an editor does: a newline at the end of the file does not start another line. */
export const countLines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);

function walk(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : walk(path);
    return entry.isFile() ? [path] : [];
  });
}
