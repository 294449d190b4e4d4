import type { PluginHandle, RouteInfo, Routes } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { pageVisibilityRules, type PageVisibilityRule, type VisiblePage } from 'parley-forum/ports/page-visibility';
import { pages } from 'parley-forum/plugins/web';

/** The maximum length of a page's path, in characters. */
export const MAX_PATH_LENGTH = 512;
/** Milliseconds a plugin may take to determine which of its pages a viewer may see. */
const TIMEOUT = 2_000;

/** A path that cannot be mistaken for a URL on another host and has no invisible characters. */
const SAFE_PATH = /^\/[^\\\s\p{C}]*$/u;

const isPublic = ({ can, path }: RouteInfo): boolean => can === 'public' && !/[:*]/.test(path);

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Determines which visitors' pages a viewer may see, since a URL can reveal information that not everyone may have. */
export class PageVisibility {
  readonly #plugin: PluginHandle;
  readonly #routes: Routes;
  #publicPaths: ReadonlySet<string> | undefined;

  constructor(plugin: PluginHandle, routes: Routes) {
    this.#plugin = plugin;
    this.#routes = routes;
  }

  /** To be called when plugins start or stop, since their pages come and go with them. */
  reset(): void {
    this.#publicPaths = undefined;
  }

  /**
   * The part of a URL that may be stored: its path, or an empty text if it is not a page, or is neither public nor
   * owned by a plugin.
   */
  pathOf(address: string): string {
    const path = (/^[^?#]*/.exec(address)?.[0] ?? '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
    if (path.length > MAX_PATH_LENGTH || !SAFE_PATH.test(path)) return '';
    const plain = decoded(path);
    return this.#isPublic(plain) || this.#placeOf(plain) ? path : '';
  }

  /**
   * For each of `paths`, in order, the page as this viewer may see it. Each plugin that owns some of the paths is
   * called once.
   */
  async visible(paths: readonly string[], viewer: Viewer): Promise<readonly (VisiblePage | undefined)[]> {
    const visiblePages = new Map(
      paths.map(
        (path) => [path, this.#isPublic(decoded(path)) ? { path } : undefined] as [string, VisiblePage | undefined],
      ),
    );
    const owned = Map.groupBy(
      [...visiblePages.keys()].filter((path) => path !== ''),
      (path) => this.#placeOf(decoded(path)),
    );
    await Promise.all(
      [...owned].map(async ([owner, ownedPaths]) => {
        if (!owner) return;
        const answers = await this.#plugin.attempt(
          owner.plugin,
          'pages of visitors',
          () => owner.value.visible(ownedPaths.map(decoded), viewer),
          TIMEOUT,
        );
        ownedPaths.forEach((path, at) => visiblePages.set(path, answers?.[at]));
      }),
    );
    return paths.map((path) => visiblePages.get(path));
  }

  #placeOf(path: string): { readonly plugin: string; readonly value: PageVisibilityRule } | undefined {
    return this.#plugin
      .extensions(pageVisibilityRules)
      .find(({ value }) => value.prefixes.some((prefix) => path.startsWith(prefix)));
  }

  #isPublic(path: string): boolean {
    this.#publicPaths ??= new Set(
      this.#routes
        .list()
        .filter((route) => route.surface.id === pages.id && route.method === 'get' && isPublic(route))
        .map((route) => route.path),
    );
    return this.#publicPaths.has(path);
  }
}
