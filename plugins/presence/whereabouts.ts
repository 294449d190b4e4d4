import type { PluginHandle, RouteInfo, Routes } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { places, type Place, type PlaceShown } from 'parley-forum/plugins/presence';
import { pages } from 'parley-forum/plugins/web';

/** Characters of a page's path at most. */
export const LONGEST = 512;
/** Milliseconds a plugin may take to say which of its pages a viewer may know of. */
const PATIENCE = 2_000;

/** What cannot pass for the address of another host, and shows as what it is. */
const HARMLESS = /^\/[^\\\s\p{C}]*$/u;

const isOpen = ({ can, options, path }: RouteInfo): boolean =>
  can === 'public' && options['login'] !== true && !/[:*]/.test(path);

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Which pages visitors are said to be on: an address can give away what not everybody may know. */
export class Whereabouts {
  readonly #plugin: PluginHandle;
  readonly #routes: Routes;
  #open: ReadonlySet<string> | undefined;

  constructor(plugin: PluginHandle, routes: Routes) {
    this.#plugin = plugin;
    this.#routes = routes;
  }

  /** Pages come and go with their plugins. */
  forget(): void {
    this.#open = undefined;
  }

  /**
   * What may be kept of an address: its path; nothing where it is no page, or not everybody's and nobody can say whose.
   */
  pathOf(address: string): string {
    const path = (/^[^?#]*/.exec(address)?.[0] ?? '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
    if (path.length > LONGEST || !HARMLESS.test(path)) return '';
    const plain = decoded(path);
    return this.#isOpen(plain) || this.#placeOf(plain) ? path : '';
  }

  /** In the order of `paths`: what each is for this viewer. Each plugin that owns some of them is asked once. */
  async shown(paths: readonly string[], viewer: Viewer): Promise<readonly (PlaceShown | undefined)[]> {
    const known = new Map(
      paths.map(
        (path) => [path, this.#isOpen(decoded(path)) ? { path } : undefined] as [string, PlaceShown | undefined],
      ),
    );
    const owned = Map.groupBy(
      [...known.keys()].filter((path) => path !== ''),
      (path) => this.#placeOf(decoded(path)),
    );
    await Promise.all(
      [...owned].map(async ([owner, own]) => {
        if (!owner) return;
        const answers = await this.#plugin.attempt(
          owner.plugin,
          'pages of visitors',
          () => owner.value.shown(own.map(decoded), viewer),
          PATIENCE,
        );
        own.forEach((path, at) => known.set(path, answers?.[at]));
      }),
    );
    return paths.map((path) => known.get(path));
  }

  #placeOf(path: string): { readonly plugin: string; readonly value: Place } | undefined {
    return this.#plugin
      .extensions(places)
      .find(({ value }) => value.prefixes.some((prefix) => path.startsWith(prefix)));
  }

  #isOpen(path: string): boolean {
    this.#open ??= new Set(
      this.#routes
        .list()
        .filter((route) => route.surface.id === pages.id && route.method === 'get' && isOpen(route))
        .map((route) => route.path),
    );
    return this.#open.has(path);
  }
}
