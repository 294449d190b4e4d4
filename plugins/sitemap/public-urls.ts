import type { Access } from 'parley-forum/plugins/access';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import type { Tags } from 'parley-forum/plugins/tags';

/** A page that guests see. */
export interface PublicUrl {
  readonly path: string;
  readonly updatedAt?: Date;
}

interface PublicUrlsDeps {
  readonly access: Access;
  readonly categories: Categories;
  readonly discussions: Pick<Discussions, 'urls' | 'occupiedRanges'>;
  readonly tags: Tags | undefined;
}
/** Discussions read at a time. */
const BATCH_SIZE = 5_000;

/** What guests may open. */
export class PublicUrls {
  readonly #parts: PublicUrlsDeps;

  constructor(parts: PublicUrlsDeps) {
    this.#parts = parts;
  }

  /** All pages that show lists; they are held in memory anyway. */
  async lists(): Promise<readonly PublicUrl[]> {
    const { access, categories, tags } = this.#parts;
    await Promise.all([access.refresh(), categories.refresh()]);
    const below = (path: string, list: readonly { readonly slug: string }[]): readonly string[] =>
      list.map(({ slug }) => path + encodeURIComponent(slug));
    const tagged = tags ? ['/tags', ...below('/t/', await tags.visible(access.guest))] : [];
    return ['/', '/categories', ...below('/c/', categories.visible(access.guest)), ...tagged].map((path) => ({ path }));
  }

  /** In which stretches of `size` numbers there are discussions. */
  ranges(size: number): Promise<readonly number[]> {
    return this.#parts.discussions.occupiedRanges(size, this.#parts.access.guest);
  }

  /** The discussions of a stretch, by number, piece by piece: memory does not depend on how many there are. */
  async *discussions(stretch: number, size: number): AsyncGenerator<readonly PublicUrl[]> {
    const { access, discussions } = this.#parts;
    const last = (stretch + 1) * size;
    for (let after = stretch * size; ;) {
      const piece = await discussions.urls({ after, last, limit: BATCH_SIZE }, access.guest);
      yield piece;
      if (piece.length < BATCH_SIZE) return;
      after = piece.at(-1)!.number;
    }
  }
}
