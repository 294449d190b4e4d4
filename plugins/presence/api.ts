import { defineExtensionPoint, defineToken, Type, type Awaitable, type Static } from 'parley-forum';
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

/** A page that somebody looks at, as this viewer may know of it. */
export interface PlaceShown {
  readonly path: string;
  /** Its title; undefined where it has a fixed address. */
  readonly title?: string;
}
export interface ShownVisitor extends Omit<VisitorRecord, 'page'> {
  readonly place: PlaceShown | undefined;
}
export interface ShownBot extends Omit<BotRecord, 'page'> {
  readonly place: PlaceShown | undefined;
}

/** A part of a list. */
export interface Part {
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
  visitors(part: Part, viewer: Viewer): Promise<Page<ShownVisitor>>;
  /** By when they were last seen, the latest first. */
  bots(part: Part, viewer: Viewer): Promise<Page<ShownBot>>;
}
export const Presence = defineToken<Presence>('Presence');

/**
 * Pages whose address names something that not everybody may see. Visitors on such pages are told of only where the
 * plugin that owns them says so; pages with a fixed address are told of when everybody may open them.
 */
export interface Place {
  /** The beginnings of the addresses, such as `/d/`. */
  readonly prefixes: readonly string[];
  /**
   * The address and title to tell the viewer in place of each path (decoded); undefined where they may not know of it.
   * Asked once for a whole list.
   */
  shown(paths: readonly string[], viewer: Viewer): Awaitable<readonly (PlaceShown | undefined)[]>;
  /** Cache tags that are purged whenever it may answer something else; without them no list of visitors is kept. */
  readonly tags?: readonly string[];
}
export const places = defineExtensionPoint<Place>('presence.places');

/**
 * Which members do not want to be named among those who are here: they count as before, and are shown as guests are.
 * Asked once for a whole list.
 */
export interface Discretion {
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
export const discretions = defineExtensionPoint<Discretion>('presence.discretions');

/** Cache tag of what shows who is here. */
export const presenceTag = 'presence';

/** What presence and typing may ask for together in a minute; for `options` of their routes. */
export const presenceBucket: Bucket & { readonly limit: string } = {
  name: 'presence',
  window: 60,
  limit: 'presence.rate_limit',
};
