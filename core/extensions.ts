import type { ExtensionPoint } from './ref.ts';

/** What one plugin added to an extension point. */
export interface Extension<T> {
  readonly plugin: string;
  readonly value: T;
}

type Entry = Extension<any> & { readonly order: number };

/** One for all, so that an empty list is the same array too. */
const NONE: readonly never[] = [];

/** Extension points are lists, not callbacks, so that a contribution can be taken back. */
export class Extensions {
  readonly #lists = new Map<string, readonly Entry[]>();

  add<T>(plugin: string, { id }: ExtensionPoint<T>, value: T, order = 0): () => void {
    const entry: Entry = { plugin, order, value };
    const read = (): readonly Entry[] => this.#lists.get(id) ?? NONE;
    this.#lists.set(
      id,
      [...read(), entry].sort((a, b) => a.order - b.order),
    );
    return () =>
      void this.#lists.set(
        id,
        read().filter((other) => other !== entry),
      );
  }

  /** By `order`, then by when each was added. The same array until the list changes, so it may key a cache. */
  read<T>(point: ExtensionPoint<T>): readonly Extension<T>[] {
    return this.#lists.get(point.id) ?? NONE;
  }

  count(): number {
    return [...this.#lists.values()].flat().length;
  }
}
