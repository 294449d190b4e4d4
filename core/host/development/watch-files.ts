import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, watch, type FSWatcher } from 'node:fs';
import { dirname, join } from 'node:path';

/** Milliseconds without events after which a save is complete: editors write, rename and write again. */
const SETTLED = 30;
/** Files that nobody edits, and temporary files of editors. */
const IGNORED = /^(node_modules|data|\..*|.*~|.*\.sw[a-z]|4913)$/;

/**
 * Calls `changed` after each save with the files below these folders whose contents changed, including deleted ones.
 * Folders that do not exist yet are watched once they appear. Returns a function that stops watching.
 *
 * Every folder is watched separately, and an event only means that something in it changed: on Linux, Node's recursive
 * watch loses track of files that an editor replaces by renaming another one.
 */
export function watchFiles(folders: readonly string[], changed: (files: readonly string[]) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  /** The files in each watched folder, with digests of their contents. */
  const contents = new Map<string, ReadonlyMap<string, string>>();
  const touched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    const files = [...touched].flatMap((folder) => look(folder));
    touched.clear();
    if (files.length > 0) changed([...new Set(files)].sort());
  };
  const touch = (folder: string): void => {
    touched.add(folder);
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLED);
  };
  /** Starts watching a folder, or stops if it no longer exists. */
  const follow = (folder: string): void => {
    try {
      if (!watchers.has(folder))
        watchers.set(
          folder,
          watch(folder, () => touch(folder)).on('error', () => touch(folder)),
        );
    } catch (error) {
      if (existsSync(folder)) throw error;
    }
    if (existsSync(folder)) return;
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  /** The files in a folder, and in new subfolders, that changed since the last look. */
  const look = (folder: string): readonly string[] => {
    const before = contents.get(folder) ?? new Map<string, string>();
    const { files, inner } = entriesOf(folder);
    const now = new Map(files.map((file) => [file, digestOf(file)]));
    contents.set(folder, now);
    follow(folder);
    return [
      ...[...now].filter(([file, digest]) => before.get(file) !== digest).map(([file]) => file),
      ...[...before.keys()].filter((file) => !now.has(file)),
      ...inner.filter((one) => !watchers.has(one)).flatMap((one) => look(one)),
    ];
  };
  for (const folder of folders.filter((one) => existsSync(one))) look(folder);
  for (const parent of new Set(folders.map((folder) => dirname(folder)).filter((one) => existsSync(one)))) {
    const appeared = (): void => {
      for (const folder of folders) if (!watchers.has(folder) && existsSync(folder)) touch(folder);
    };
    watchers.set(
      `${parent}/`,
      watch(parent, appeared).on('error', () => undefined),
    );
  }
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

function entriesOf(folder: string): { readonly files: readonly string[]; readonly inner: readonly string[] } {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !IGNORED.test(name));
    const pathsOf = (kind: 'isFile' | 'isDirectory'): string[] =>
      entries.filter((entry) => entry[kind]()).map(({ name }) => join(folder, name));
    return { files: pathsOf('isFile'), inner: pathsOf('isDirectory') };
  } catch {
    // The folder has been deleted in the meantime.
    return { files: [], inner: [] };
  }
}

/** A digest of the file's contents; empty if it cannot be read. */
function digestOf(file: string): string {
  try {
    return createHash('sha1').update(readFileSync(file)).digest('base64');
  } catch {
    return '';
  }
}
