import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
// Its hook has to know what a specifier means before this one is asked.
import '../one-program.ts';

/** What the address of a module that was read anew ends in. */
const VERSION = /\?version=\d+$/;

/**
 * Which files import which, and how to read them anew. What was imported once stays in the process under its address,
 * so a changed file gets another address, and with it all that import it. Everything else stays as it is: a module
 * that others share exists once.
 */
export class ModuleGraph {
  /** By file, those that import it. */
  readonly #importers = new Map<string, Set<string>>();
  /** By file, how often it was renewed. */
  readonly #versions = new Map<string, number>();

  /** Learns of each import from here on. There can be one such graph in a process. */
  observe(): void {
    registerHooks({
      resolve: (specifier, context, next) => {
        // Read before: those who are asked next write their own into it.
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

  /** The files below a folder that were imported. */
  below(folder: string): readonly string[] {
    return [...this.#importers.keys()].filter((file) => file.startsWith(folder + sep));
  }

  /**
   * These files are read anew when they are imported next, and so is everything that imports them, as far as it lies
   * below `folders`. Returns all of them.
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

/** The file that a module was read from; undefined for what is built in, and for packages, which nobody edits. */
function fileOf(url: string | undefined): string | undefined {
  if (!url?.startsWith('file:') || url.includes('/node_modules/')) return undefined;
  return fileURLToPath(url.replace(VERSION, ''));
}
