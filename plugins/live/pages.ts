import { type Cache, type Hooks, type PluginHandle } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { signals } from 'parley-forum/ports/live';
import { bodyStart, fill, html, renderedTag, slotFillings } from 'parley-forum/plugins/web';

interface PageDeps {
  readonly cache: Cache;
  readonly hooks: Hooks;
  /** Version of the pages currently served. */
  version(): string | undefined;
  /** Whether guests' pages open a stream. */
  guests(): boolean;
}

/** Adds the invisible element at the top of pages that opens the stream. */
export function addPages(plugin: PluginHandle, { cache, hooks, version, guests }: PageDeps): void {
  const names = (): readonly string[] => [
    ...hooks.hooks().flatMap(({ hook }) => (hook.kind === 'action' && hook.public ? hook.id : [])),
    ...plugin.extensions(signals).map(({ value }) => value.name),
  ];
  plugin.extend(
    slotFillings,
    fill(bodyStart, (places, viewer) => {
      const wanted = !isGuest(viewer) || guests();
      const query = new URLSearchParams({ version: version() ?? '', viewer: viewer.id ?? '' });
      return places.map(() =>
        wanted
          ? html`<x-live data-eager data-events="${names().join(' ')}" data-query="${query}"></x-live><x-link hidden data-when="x-link"></x-link>`
          : undefined,
      );
    }),
  );
  plugin.onSettings(() => cache.purge(renderedTag));
}
