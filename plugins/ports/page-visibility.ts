import { defineExtensionPoint, type Awaitable } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A page a visitor is on, as far as the viewer may see it. */
export interface VisiblePage {
  readonly path: string;
  /** Its title; undefined for pages with a fixed URL. */
  readonly title?: string;
}
/**
 * Covers pages whose URL names something that not everyone may see. A visitor is shown on such a page only if the
 * plugin that owns it allows that; pages with a fixed URL are shown if everyone may open them.
 */
export interface PageVisibilityRule {
  /** Path prefixes, such as `/d/`. */
  readonly prefixes: readonly string[];
  /**
   * The path and title to show the viewer for each (decoded) path; undefined where they may not see it. Called once for
   * a whole list.
   */
  visible(paths: readonly string[], viewer: Viewer): Awaitable<readonly (VisiblePage | undefined)[]>;
  /** Cache tags purged whenever the result may change; without them, no list of visitors is cached. */
  readonly tags?: readonly string[];
}
export const pageVisibilityRules = defineExtensionPoint<PageVisibilityRule>(
  'presence.page-visibility',
  'On which pages with names in their URLs a viewer may see a visitor; added by the plugin that owns the pages.',
  { order: 'If there are several rules for a path, the first one decides.' },
);

/**
 * Says which members hide that they are online: they count as members, but are shown as guests. Called once for a whole
 * list.
 */
export interface HiddenMembers {
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
export const hiddenMembers = defineExtensionPoint<HiddenMembers>(
  'presence.hidden-members',
  'Which members hide their presence: they count as members but are shown as guests.',
);

/** Cache tag of everything that shows who is online. */
export const presenceTag = 'presence';
