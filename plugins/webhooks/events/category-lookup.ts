import type { Access } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { RaisedEvent } from './fan-out.ts';

/** The id with this name in the payload itself, or in one of its objects. */
const namedIn = (payload: object, name: string): string | undefined =>
  [payload, ...Object.values(payload)]
    .map((part: unknown) => (part as Readonly<Record<string, unknown>> | null | undefined)?.[name])
    .find((id) => typeof id === 'string');

/**
 * Finds the categories of events by the category, post or discussion that their payload names. Other events have none.
 */
export const createCategoryLookup = (access: Access, discussions: Discussions | undefined) => {
  const viewer = access.unrestricted;
  const categoryOf = async (payload: object): Promise<string | undefined> => {
    const known = namedIn(payload, 'category_id');
    if (known !== undefined || !discussions) return known;
    const [post, discussion] = [namedIn(payload, 'post_id'), namedIn(payload, 'discussion_id')];
    if (post !== undefined) return (await discussions.findPost(post, viewer))?.discussion.categoryId;
    return discussion === undefined ? undefined : (await discussions.find(discussion, viewer))?.categoryId;
  };
  return async (events: readonly RaisedEvent[]): Promise<ReadonlyMap<RaisedEvent, string | undefined>> =>
    new Map(await Promise.all(events.map(async (raised) => [raised, await categoryOf(raised.payload)] as const)));
};
