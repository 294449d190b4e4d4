import type { Access } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { RaisedEvent } from './fan-out.ts';

/** The parts of event payloads that say where an event happened. */
interface EventLocation {
  readonly category_id?: string;
  readonly discussion?: { readonly category_id?: string };
  readonly report?: { readonly post_id?: string };
}
/** Finds the categories of events; unknown kinds of events have none. */
export const createCategoryLookup =
  (access: Access, discussions: Discussions | undefined) =>
  async (events: readonly RaisedEvent[]): Promise<ReadonlyMap<RaisedEvent, string | undefined>> => {
    return new Map(
      await Promise.all(
        events.map(async (raised): Promise<[RaisedEvent, string | undefined]> => {
          const { category_id: own, discussion, report } = raised.payload as EventLocation;
          const known = own ?? discussion?.category_id;
          if (known !== undefined || report?.post_id === undefined) return [raised, known];
          return [raised, (await discussions?.findPost(report.post_id, access.unrestricted))?.discussion.categoryId];
        }),
      ),
    );
  };
