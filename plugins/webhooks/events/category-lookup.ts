import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { Raised } from './fan-out.ts';

/** What events say, or are raised with, about where they happened. */
interface Placed {
  readonly category_id?: string;
  readonly discussion?: { readonly category_id?: string };
  readonly report?: { readonly post_id?: string };
}
/** Nobody's account, with an administrator's rights: whoever has no id is a guest. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Everything is found by who sees everything. */
export const seeingAll = (access: Access): Viewer => ({
  id: NOBODY,
  username: undefined,
  group: access.groupOf('admin'),
});

/** Finds the categories of events; what it does not know is in none. */
export const categoryFinder =
  (access: Access, discussions: Discussions | undefined) =>
  async (events: readonly Raised[]): Promise<ReadonlyMap<Raised, string | undefined>> => {
    const viewer = seeingAll(access);
    return new Map(
      await Promise.all(
        events.map(async (raised): Promise<[Raised, string | undefined]> => {
          const { category_id: own, discussion, report } = raised.payload as Placed;
          const known = own ?? discussion?.category_id;
          if (known !== undefined || report?.post_id === undefined) return [raised, known];
          return [raised, (await discussions?.findPost(report.post_id, viewer))?.discussion.categoryId];
        }),
      ),
    );
  };
