import type { ExtensionPoint } from './ref.ts';

/** One plugin's contribution to an extension point. */
export interface Extension<T> {
  readonly plugin: string;
  readonly value: T;
}

type Entry = Extension<any> & { readonly order: number };

/** Shared, so that an empty list is always the same array too. */
const NONE: readonly never[] = [];

/** Extension points are lists rather than callbacks, so that contributions can be removed again. */
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

  /**
   * Sorted by `order`, then by when each was added. Returns the same array until the list changes, so it can serve as a
   * cache key.
   */
  read<T>(point: ExtensionPoint<T>): readonly Extension<T>[] {
    return this.#lists.get(point.id) ?? NONE;
  }

  count(): number {
    return [...this.#lists.values()].flat().length;
  }
}
