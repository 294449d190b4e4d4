import { type VisiblePage } from 'parley-forum/ports/page-visibility';
import { defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time, type Page } from 'parley-forum/plugins/api';
import type { Bucket } from 'parley-forum/plugins/limits';

/** `total` is the sum of the others. */
export const PresenceStatistics = Type.Object({
  total: Type.Integer(),
  anonymous: Type.Integer(),
  authenticated: Type.Integer(),
  bots: Type.Integer(),
});
export type PresenceStatistics = Static<typeof PresenceStatistics>;
/** `page` is null where the viewer may not see what is there. */
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

/** A part of a list. */
export interface ListRange {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
/**
 * Who is here now: seen within the last five minutes, exact over all processes with Redis. 503 while Redis is
 * configured but away.
 */
export interface Presence {
  statistics(): Promise<PresenceStatistics>;
  /** Members first, then by when they were last seen, the latest first. */
  visitors(part: ListRange, viewer: Viewer): Promise<Page<VisibleVisitor>>;
  /** By when they were last seen, the latest first. */
  bots(part: ListRange, viewer: Viewer): Promise<Page<VisibleBot>>;
  /** Those of these members who hide that they are here, for whatever else would say it. */
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
export const Presence = defineToken<Presence>('Presence');

/** What presence and typing may ask for together in a minute; for `options` of their routes. */
export const presenceBucket: Bucket & { readonly limit: string } = {
  name: 'presence',
  window: 60,
  limit: 'presence.rate_limit',
};
