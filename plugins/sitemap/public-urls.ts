import type { Access } from 'parley-forum/plugins/access';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import type { Tags } from 'parley-forum/ports/tags';

/** A page that guests can see. */
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
/** The number of discussions read at a time. */
const BATCH_SIZE = 5_000;

/** The URLs of everything guests may open. */
export class PublicUrls {
  readonly #deps: PublicUrlsDeps;

  constructor(deps: PublicUrlsDeps) {
    this.#deps = deps;
  }

  /** All pages that show lists; their data is in memory anyway. */
  async lists(): Promise<readonly PublicUrl[]> {
    const { access, categories, tags } = this.#deps;
    await Promise.all([access.refresh(), categories.refresh()]);
    const below = (path: string, list: readonly { readonly slug: string }[]): readonly string[] =>
      list.map(({ slug }) => path + encodeURIComponent(slug));
    const tagged = tags ? ['/tags', ...below('/t/', await tags.visible(access.guest))] : [];
    return ['/', '/categories', ...below('/c/', categories.visible(access.guest)), ...tagged].map((path) => ({ path }));
  }

  /** The ranges of `size` discussion numbers that contain discussions. */
  ranges(size: number): Promise<readonly number[]> {
    return this.#deps.discussions.occupiedRanges(size, this.#deps.access.guest);
  }

  /** The discussions of a range by number, in batches, so that memory use does not depend on their number. */
  async *discussions(range: number, size: number): AsyncGenerator<readonly PublicUrl[]> {
    const { access, discussions } = this.#deps;
    const last = (range + 1) * size;
    for (let after = range * size; ;) {
      const batch = await discussions.urls({ after, last, limit: BATCH_SIZE }, access.guest);
      yield batch;
      if (batch.length < BATCH_SIZE) return;
      after = batch.at(-1)!.number;
    }
  }
}
