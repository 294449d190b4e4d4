import type { ExtensionPoint } from './ref.ts';

interface Entry {
  readonly plugin: string;
  readonly order: number;
  readonly value: unknown;
}

/** What one plugin added to an extension point. */
export interface Extension<T> {
  readonly plugin: string;
  readonly value: T;
}

/** Extension points are lists, not callbacks, so that a contribution can be taken back. */
export class Extensions {
  readonly #lists = new Map<string, readonly Entry[]>();

  add<T>(plugin: string, point: ExtensionPoint<T>, value: T, order = 0): () => void {
    const entry: Entry = { plugin, order, value };
    this.#lists.set(point.id, [...this.#entries(point), entry].sort((a, b) => a.order - b.order));
    return () => this.#lists.set(point.id, this.#entries(point).filter((other) => other !== entry));
  }

  /** By `order`, then by when each was added. The same array until the list changes, so it may key a cache. */
  read<T>(point: ExtensionPoint<T>): readonly Extension<T>[] {
    return this.#entries(point) as readonly Extension<T>[];
  }

  count(): number {
    return [...this.#lists.values()].reduce((n, list) => n + list.length, 0);
  }

  #entries(point: { readonly id: string }): readonly Entry[] {
    return this.#lists.get(point.id) ?? [];
  }
}
