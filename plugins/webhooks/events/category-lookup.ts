import type { Access } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { RaisedEvent } from './fan-out.ts';

/** The parts of event payloads that say where an event happened; any of them may have a `category_id`. */
interface EventLocation {
  readonly report?: { readonly post_id?: string };
}

/** In the payload itself, else in what it is about. */
const namedIn = (payload: object): string | undefined =>
  [payload, ...Object.values(payload)]
    .map((part: unknown) => (part as { readonly category_id?: unknown } | null | undefined)?.category_id)
    .find((id) => typeof id === 'string');

/** Finds the categories of events; unknown kinds of events have none. */
export const createCategoryLookup =
  (access: Access, discussions: Discussions | undefined) =>
  async (events: readonly RaisedEvent[]): Promise<ReadonlyMap<RaisedEvent, string | undefined>> => {
    return new Map(
      await Promise.all(
        events.map(async (raised): Promise<[RaisedEvent, string | undefined]> => {
          const { report } = raised.payload as EventLocation;
          const known = namedIn(raised.payload);
          if (known !== undefined || report?.post_id === undefined) return [raised, known];
          return [raised, (await discussions?.findPost(report.post_id, access.unrestricted))?.discussion.categoryId];
        }),
      ),
    );
  };
