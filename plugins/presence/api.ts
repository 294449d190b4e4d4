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

/** A page that a visitor is on, as this viewer may see it. */
export interface VisiblePage {
  readonly path: string;
  /** Its title; undefined where it has a fixed URL. */
  readonly title?: string;
}
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
}
export const Presence = defineToken<Presence>('Presence');

/**
 * Pages whose URL names something that not everyone may see. The page of a visitor is shown only if the plugin that
 * owns it says so; pages with a fixed URL are shown if everyone may open them.
 */
export interface PageVisibilityRule {
  /** The beginnings of the paths, such as `/d/`. */
  readonly prefixes: readonly string[];
  /**
   * The path and title to show the viewer for each path (decoded); undefined where they may not see it. Called once for
   * a whole list.
   */
  visible(paths: readonly string[], viewer: Viewer): Awaitable<readonly (VisiblePage | undefined)[]>;
  /** Cache tags that are purged whenever its result may change; without them no list of visitors is cached. */
  readonly tags?: readonly string[];
}
export const pageVisibilityRules = defineExtensionPoint<PageVisibilityRule>(
  'presence.page-visibility',
  'Which pages with names in their URLs a viewer may see a visitor on; added by the plugin that owns the pages.',
  { order: 'Of several rules for one path the first decides.' },
);

/**
 * Which members hide that they are here: they count as members, and are shown as guests. Called once for a whole list.
 */
export interface HiddenMembers {
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
export const hiddenMembers = defineExtensionPoint<HiddenMembers>(
  'presence.hidden-members',
  'Which members hide that they are here: they count as members and are shown as guests.',
);

/** Cache tag of what shows who is here. */
export const presenceTag = 'presence';

/** What presence and typing may ask for together in a minute; for `options` of their routes. */
export const presenceBucket: Bucket & { readonly limit: string } = {
  name: 'presence',
  window: 60,
  limit: 'presence.rate_limit',
};
