import type { PluginHandle, RouteInfo, Routes } from '#core';
import type { Viewer } from '#plugins/access';
import { places, type Place } from '#plugins/presence';
import { pages } from '#plugins/web';

/** Characters of a page's path at most. */
export const LONGEST = 512;
/** Milliseconds a plugin may take to say which of its pages a viewer may know of. */
const PATIENCE = 2_000;

/** What cannot pass for the address of another host, and shows as what it is. */
const HARMLESS = /^\/[^\\\s\p{C}]*$/u;

const isOpen = ({ can, options, path }: RouteInfo): boolean => can === 'public' && options['login'] !== true && !/[:*]/.test(path);
/** `/u/:name` as an expression. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/[.~-]/g, '\\$&').replace(/:\w+/g, '[^/]+').replace(/\*\w+$/, '.+')}$`);

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

interface Known {
  readonly open: ReadonlySet<string>;
  readonly others: readonly RegExp[];
}

/** Which pages visitors are said to be on: an address can give away what not everybody may know. */
export class Whereabouts {
  readonly #plugin: PluginHandle;
  readonly #routes: Routes;
  #known: Known | undefined;

  constructor(plugin: PluginHandle, routes: Routes) {
    this.#plugin = plugin;
    this.#routes = routes;
  }

  /** Pages come and go with their plugins. */
  forget(): void {
    this.#known = undefined;
  }

  /** What may be kept of an address: its path; nothing where it is not everybody's and nobody can say whose. */
  pathOf(address: string): string {
    const path = (/^[^?#]*/.exec(address)?.[0] ?? '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
    if (path.length > LONGEST || !HARMLESS.test(path)) return '';
    const plain = decoded(path);
    const { open, others } = (this.#known ??= this.#look());
    return open.has(plain) || this.#placeOf(plain) || !others.some((other) => other.test(plain)) ? path : '';
  }

  /** In the order of `paths`: what each is called for this viewer. Each plugin that owns some of them is asked once. */
  async shown(paths: readonly string[], viewer: Viewer): Promise<readonly (string | null)[]> {
    const names = new Map(paths.map((path): [string, string | null] => [path, path === '' ? null : path]));
    const owned = Map.groupBy([...names.keys()].filter((path) => path !== ''), (path) => this.#placeOf(decoded(path)));
    await Promise.all([...owned].map(async ([owner, own]) => {
      if (!owner) return;
      const answers = await this.#plugin.attempt(owner.plugin, 'pages of visitors', () => owner.value.shown(own.map(decoded), viewer), PATIENCE);
      own.forEach((path, at) => names.set(path, answers?.[at] ?? null));
    }));
    return paths.map((path) => names.get(path) ?? null);
  }

  #placeOf(path: string): { readonly plugin: string; readonly value: Place } | undefined {
    return this.#plugin.extensions(places).find(({ value }) => value.prefixes.some((prefix) => path.startsWith(prefix)));
  }

  #look(): Known {
    const routes = this.#routes.list().filter(({ surface, method }) => surface.id === pages.id && method === 'get');
    const closed = routes.filter((route) => !isOpen(route));
    return { open: new Set(routes.filter(isOpen).map(({ path }) => path)), others: closed.map(({ path }) => patternOf(path)) };
  }
}
