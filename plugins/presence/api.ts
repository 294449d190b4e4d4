import { defineToken, Type, type Static } from '#core';
import type { Viewer } from '#plugins/access';
import { Author } from '#plugins/accounts';
import { nullable, Time } from '#plugins/api';

export const PresenceStatistics = Type.Object({ total: Type.Integer(), anonymous: Type.Integer(), authenticated: Type.Integer(), bots: Type.Integer() });
export type PresenceStatistics = Static<typeof PresenceStatistics>;
/** `page` is left out where the viewer may not see what is there. */
export const VisitorRecord = Type.Object({ user: nullable(Author), page: nullable(Type.String()), last_seen_at: Time });
export type VisitorRecord = Static<typeof VisitorRecord>;
export const BotRecord = Type.Object({ name: Type.String(), page: nullable(Type.String()), last_seen_at: Time });
export type BotRecord = Static<typeof BotRecord>;

/** Who is here now: seen within the last five minutes, exact over all processes with Redis. */
export interface Presence {
  statistics(): Promise<PresenceStatistics>;
  /** Members first, then by when they were last seen. */
  visitors(viewer: Viewer): Promise<readonly VisitorRecord[]>;
  bots(viewer: Viewer): Promise<readonly BotRecord[]>;
}
export const Presence = defineToken<Presence>('Presence');
