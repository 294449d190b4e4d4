import { defineAction, Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/**
 * A token that gives access to feeds and nothing else, as its member sees it. The token itself is shown only once, when
 * it is created.
 */
export const FeedTokenRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** Null if the token covers everything the member may see. */
  category_ids: nullable(Type.Array(Type.String())),
  created_at: Time,
  last_used_at: nullable(Time),
});
export type FeedTokenRecord = Static<typeof FeedTokenRecord>;

/** A member created a feed URL with a token in it. */
export const feedTokenMade = defineAction<{ readonly actor: string; readonly id: string }>('feed-token.made');
/** `actor` is an account or `commandLine`; absent if the forum itself revoked the token. */
export const feedTokenRevoked = defineAction<{ readonly actor?: string | undefined; readonly id: string }>(
  'feed-token.revoked',
);

export const feedSettingsEnd = defineSlot<object>(
  'settings.feeds.end',
  'At the end of a member’s feed settings: panels.',
);
