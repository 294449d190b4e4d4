import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Logger } from 'parley-forum';
import {
  build,
  BUILD_VERSION,
  extensionOf,
  servedPath,
  removeStaleTrees,
  CONTENT_TYPES,
  type Asset,
  type Source,
} from './build.ts';

/** `t`: a theme's files, `p`: a plugin's, `s`: style sheets that the server generates. */
export type TreeKind = 't' | 'p' | 's';

/** The files served for one owner, under a URL that changes when any of them does. */
export interface Tree {
  readonly kind: TreeKind;
  readonly owner: string;
  readonly hash: string;
  /** Ends with a slash. */
  readonly base: string;
  readonly paths: ReadonlySet<string>;
  /** Builds the tree on first use; rejects if a module does not compile. */
  file(path: string): Promise<Asset | undefined>;
  /** The asset if it has already been built. */
  peek(path: string): Asset | undefined;
}

/** All trees by URL; the previous version of a changed tree is kept for open tabs. */
export class Assets {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #trees = new Map<string, Tree>();
  readonly #previousTrees = new Map<string, Tree>();

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Serves these files in place of the owner's previous ones. */
  mount(kind: TreeKind, owner: string, sources: readonly Source[]): Tree {
    const key = `${kind}/${owner}`;
    const hash = hashOf(sources);
    const last = this.#trees.get(key);
    if (last?.hash === hash) return last;
    if (last) this.#previousTrees.set(key, last);
    const tree = createTree({ kind, owner, hash, sources, cache: join(this.#folder, `${kind}-${owner}@${hash}`) });
    this.#trees.set(key, tree);
    return tree;
  }

  /** `name` is `owner@hash`, or only `owner` for the URL that never changes. */
  find(kind: string, name: string): Tree | undefined {
    const [owner = '', hash] = name.split('@');
    const key = `${kind}/${owner}`;
    return [this.#trees.get(key), this.#previousTrees.get(key)].find(
      (tree) => tree && (hash === undefined || tree.hash === hash),
    );
  }

  tree(kind: TreeKind, owner: string): Tree | undefined {
    return this.#trees.get(`${kind}/${owner}`);
  }

  /**
   * Builds all trees ahead of the first visit. Build errors are logged, and reported again when the file is requested.
   * If `signal` aborts, it stops after the current tree.
   */
  async warm(signal: AbortSignal): Promise<void> {
    for (const tree of this.#trees.values()) {
      if (signal.aborted) return;
      await tree
        .file('')
        .catch((error: unknown) =>
          this.#log.error(
            { plugin: tree.owner, error },
            'the browser files could not be built; pages work without them',
          ),
        );
    }
    const names = await readdir(this.#folder).catch(() => []);
    // Another process may have removed some of them in the meantime.
    const found = await Promise.all(
      names.map((name) =>
        stat(join(this.#folder, name)).then(
          ({ mtimeMs: time }) => ({ name, time }),
          () => undefined,
        ),
      ),
    );
    const entries = found.filter((entry) => entry !== undefined);
    await removeStaleTrees(
      this.#folder,
      new Set([...this.#trees.values()].map(({ kind, owner, hash }) => `${kind}-${owner}@${hash}`)),
      entries,
    );
  }
}

interface TreeOptions {
  readonly kind: TreeKind;
  readonly owner: string;
  readonly hash: string;
  readonly sources: readonly Source[];
  readonly cache: string;
}

function createTree({ kind, owner, hash, sources, cache }: TreeOptions): Tree {
  let building: Promise<ReadonlyMap<string, Asset>> | undefined;
  let built: ReadonlyMap<string, Asset> | undefined;
  const collect = async (): Promise<ReadonlyMap<string, Asset>> => {
    const assets = await build(sources, cache);
    return (built = new Map(assets.map((asset) => [asset.path, asset])));
  };
  return {
    kind,
    owner,
    hash,
    base: `/assets/${kind}/${owner}@${hash}/`,
    paths: new Set(sources.map(servedPath)),
    file: async (path) => (await (building ??= collect())).get(path),
    peek: (path) => built?.get(path),
  };
}

/** 60 bits of the tree's digest: enough that two versions of one tree never share a URL. */
function hashOf(sources: readonly Source[]): string {
  const digest = createHash('sha256').update(BUILD_VERSION);
  for (const source of sources) {
    const content = source.text ?? readFileSync(source.file ?? '');
    digest.update(`\0${source.path}\0${content.length}\0`).update(content);
  }
  for (const file of new Set(sources.flatMap(({ imports = [] }) => imports))) {
    const content = readFileSync(file);
    digest.update(`\0${content.length}\0`).update(content);
  }
  return digest.digest('base64url').slice(0, 10);
}

/**
 * The files below `folder` that may be served, by path, without dotfiles and symbolic links; none if there is no such
 * folder.
 */
export function filesBelow(folder: string): readonly Source[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && extensionOf(entry.name) in CONTENT_TYPES)
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ path: relative(folder, file), file }));
}

/** A plugin's browser modules: each `client/*.ts` is one; files in its subfolders are only imported by them. */
export function modulesIn(folder: string): readonly Source[] {
  const client = join(folder, 'client');
  if (!existsSync(client)) return [];
  const names = readdirSync(client, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .sort();
  const isModule = (name: string): boolean => dirname(name) === '.';
  const imports = names.filter((name) => !isModule(name)).map((name) => join(client, name));
  return names.filter(isModule).map((name) => ({ path: name, file: join(client, name), module: true, imports }));
}

/** Style sheets with such a name are only on pages of that name, and the others on every page. */
const OF_PAGE = /^page-(.+)\.css$/;

export interface PluginStyle {
  /** Undefined: on every page. */
  readonly page: string | undefined;
  readonly file: string;
  readonly text: string;
}

/** A plugin's own style sheets, `client/*.css`. */
export const stylesIn = (folder: string): readonly PluginStyle[] =>
  filesBelow(join(folder, 'client'))
    .filter(({ path }) => path.endsWith('.css'))
    .map(({ path, file = '' }) => ({ page: OF_PAGE.exec(path)?.[1], file, text: readFileSync(file, 'utf8') }));
