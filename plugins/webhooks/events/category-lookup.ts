import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { RaisedEvent } from './fan-out.ts';

/** The parts of event payloads that say where an event happened. */
interface EventLocation {
  readonly category_id?: string;
  readonly discussion?: { readonly category_id?: string };
  readonly report?: { readonly post_id?: string };
}
/** Id of no account: a viewer without an id would be a guest. */
const SYSTEM_ID = '00000000-0000-0000-0000-000000000000';

/** A viewer with an administrator's rights, which sees everything. */
export const systemViewer = (access: Access): Viewer => ({
  id: SYSTEM_ID,
  username: undefined,
  group: access.groupOf('admin'),
});

/** Finds the categories of events; unknown kinds of events have none. */
export const createCategoryLookup =
  (access: Access, discussions: Discussions | undefined) =>
  async (events: readonly RaisedEvent[]): Promise<ReadonlyMap<RaisedEvent, string | undefined>> => {
    const viewer = systemViewer(access);
    return new Map(
      await Promise.all(
        events.map(async (raised): Promise<[RaisedEvent, string | undefined]> => {
          const { category_id: own, discussion, report } = raised.payload as EventLocation;
          const known = own ?? discussion?.category_id;
          if (known !== undefined || report?.post_id === undefined) return [raised, known];
          return [raised, (await discussions?.findPost(report.post_id, viewer))?.discussion.categoryId];
        }),
      ),
    );
  };
