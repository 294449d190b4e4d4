import type { NewNotification, NotificationType } from 'parley-forum/ports/notifications';
import type { Subscriptions } from 'parley-forum/ports/subscriptions';
import type { Visibility } from './visibility.ts';

export interface MutesDeps {
  readonly subscriptions: Subscriptions | undefined;
  readonly visibility: Visibility;
  types(): readonly NotificationType[];
}
const pair = (discussionId: string, userId: string): string => `${discussionId} ${userId}`;

/**
 * Removes from a batch what its recipients do not want: actions of members they ignore, everything about discussions
 * they muted, and, for discussions in categories, with tags or by authors they muted, every type that is not
 * `fromMuted`.
 */
export async function withoutMuted(
  batch: readonly NewNotification[],
  { subscriptions, visibility, types }: MutesDeps,
): Promise<readonly NewNotification[]> {
  if (!subscriptions) return batch;
  const userIds = [...new Set(batch.map(({ userId }) => userId))];
  const actors = [...new Set(batch.flatMap(({ actorId }) => actorId ?? []))];
  const ignored = actors.length > 0 ? await subscriptions.ignoredBy(userIds, actors) : undefined;
  const [muted, outOfTheWay] = [new Set<string>(), new Set<string>()];
  for (const id of new Set(batch.flatMap(({ discussionId }) => discussionId ?? []))) {
    for (const [userId, level] of await subscriptions.levels(id, userIds))
      if (level === 'muted') muted.add(pair(id, userId));
    const head = await visibility.head(id);
    for (const userId of head ? await subscriptions.mutersOf(head, userIds) : []) outOfTheWay.add(pair(id, userId));
  }
  const fromMuted = new Set(types().flatMap((known) => (known.fromMuted ? [known.type] : [])));
  return batch.filter(({ userId, type, actorId = '', discussionId = '' }) => {
    const about = pair(discussionId, userId);
    return !ignored?.get(userId)?.has(actorId) && !muted.has(about) && (fromMuted.has(type) || !outOfTheWay.has(about));
  });
}
