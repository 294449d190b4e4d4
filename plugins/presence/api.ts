import { type VisiblePage } from 'parley-forum/ports/page-visibility';
import { defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time, type Page } from 'parley-forum/plugins/api';
import type { Bucket } from 'parley-forum/plugins/limits';

/** `total` is the sum of the other numbers. */
export const PresenceStatistics = Type.Object({
  total: Type.Integer(),
  anonymous: Type.Integer(),
  authenticated: Type.Integer(),
  bots: Type.Integer(),
});
export type PresenceStatistics = Static<typeof PresenceStatistics>;
/** `page` is null if the viewer may not see that page. */
export const VisitorRecord = Type.Object({ user: nullable(Author), page: nullable(Type.String()), last_seen_at: Time });
export type VisitorRecord = Static<typeof VisitorRecord>;
export const BotRecord = Type.Object({ name: Type.String(), page: nullable(Type.String()), last_seen_at: Time });
export type BotRecord = Static<typeof BotRecord>;

export interface VisibleVisitor extends Omit<VisitorRecord, 'page'> {
  readonly page: VisiblePage | undefined;
}
export interface VisibleBot extends Omit<BotRecord, 'page'> {
  readonly page: VisiblePage | undefined;
}

/** The part of a list to return. */
export interface ListRange {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
/**
 * The visitors who are here now, that is, who were seen within the last five minutes. With Redis, exact across all
 * processes; throws 503 while Redis is configured but unavailable.
 */
export interface Presence {
  statistics(): Promise<PresenceStatistics>;
  /** Members first, then by when they were last seen, most recent first. */
  visitors(part: ListRange, viewer: Viewer): Promise<Page<VisibleVisitor>>;
  /** By when they were last seen, most recent first. */
  bots(part: ListRange, viewer: Viewer): Promise<Page<VisibleBot>>;
  /** Those of the given usernames, in lower case, whose members are here and do not hide it. */
  online(usernames: readonly string[]): Promise<readonly string[]>;
  /** Those of the given members who hide their presence. To be respected by anything else that would reveal it. */
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
export const Presence = defineToken<Presence>('Presence');

/** The rate limit shared by presence and typing, per minute; for the `options` of their routes. */
export const presenceBucket: Bucket & { readonly limit: string } = {
  name: 'presence',
  window: 60,
  limit: 'presence.rate_limit',
};
