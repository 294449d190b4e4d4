import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
// Must be registered first, because its hook decides how a specifier is resolved.
import '../one-program.ts';

/** The suffix of a reloaded module's URL. */
const VERSION = /\?version=\d+$/;

/**
 * Tracks which files import which, and makes them load again. A module stays in memory under its URL, so a changed file
 * gets a new URL, and so does everything that imports it. Everything else is left alone: a module shared by others
 * exists only once.
 */
export class ModuleGraph {
  /** Importers by file. */
  readonly #importers = new Map<string, Set<string>>();
  /** Number of reloads by file. */
  readonly #versions = new Map<string, number>();

  /** Records all imports from here on. There can be only one such graph per process. */
  observe(): void {
    registerHooks({
      resolve: (specifier, context, next) => {
        // Read first, because the next hooks modify the context.
        const importer = fileOf(context.parentURL);
        const resolved = next(specifier, context);
        const file = fileOf(resolved.url);
        if (file === undefined) return resolved;
        if (importer !== undefined) this.#importersOf(file).add(importer);
        else this.#importersOf(file);
        const version = this.#versions.get(file);
        return version === undefined ? resolved : { ...resolved, url: `${resolved.url}?version=${version}` };
      },
    });
  }

  has(file: string): boolean {
    return this.#importers.has(file);
  }

  /** Imported files below a folder. */
  below(folder: string): readonly string[] {
    return [...this.#importers.keys()].filter((file) => file.startsWith(folder + sep));
  }

  /**
   * Marks these files to be loaded again on their next import, along with everything below `folders` that imports them.
   * Returns all of them.
   */
  renew(files: readonly string[], folders: readonly string[]): ReadonlySet<string> {
    const renewed = new Set(files);
    for (const file of renewed)
      for (const importer of this.#importers.get(file) ?? [])
        if (folders.some((folder) => importer.startsWith(folder + sep))) renewed.add(importer);
    for (const file of renewed) this.#versions.set(file, (this.#versions.get(file) ?? 0) + 1);
    return renewed;
  }

  #importersOf(file: string): Set<string> {
    let importers = this.#importers.get(file);
    if (!importers) this.#importers.set(file, (importers = new Set()));
    return importers;
  }
}

/** The file that a module was loaded from; undefined for built-in modules, and for packages, which nobody edits. */
function fileOf(url: string | undefined): string | undefined {
  if (!url?.startsWith('file:') || url.includes('/node_modules/')) return undefined;
  return fileURLToPath(url.replace(VERSION, ''));
}
