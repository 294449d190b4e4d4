import { isAdmin, isGuest, isStaff, type Level, type Viewer } from 'parley-forum/plugins/access';
import type { Account } from 'parley-forum/plugins/accounts';
import type { NavigationItem, PageFeed, PageHead } from '../api.ts';
import type { Preferences } from '../appearance/preferences.ts';
import type { Branding } from '../themes/branding.ts';
import type { Locale } from '../themes/locales.ts';
import type { Notice } from './flash-notices.ts';

/**
 * Data that every template can read in addition to its model: `site` as `@site`, and so on. The reference is generated
 * from it.
 */
export interface TemplateData {
  /** The site, and the language of the page. */
  readonly site: TemplateSite;
  /** The viewer that the page is for. */
  readonly viewer: TemplateViewer;
  /** How they chose to see pages; empty values where they made no choice. */
  readonly preferences: Preferences;
  /** The page itself; absent in slots. */
  readonly page?: TemplatePage | { readonly name: string };
  /** Links by area; in the layout and its partials, and in views that are rendered for one reader. */
  readonly navigation?: Readonly<Record<NavigationItem['area'], readonly TemplateLink[]>>;
  /** Groups of links beside every page; present where `navigation` is. */
  readonly sidebar?: readonly TemplateSection[];
}

export interface TemplateSite {
  /** The site’s name. */
  readonly name: string;
  /** The first letter of its name, for a logo. */
  readonly initial: string;
  /** Path of the icon that the operators chose; empty if the theme’s icon is used. */
  readonly icon: string;
  /** Language of the page: `en`, `pt-BR`. */
  readonly language: string;
  /** Writing direction of the language. */
  readonly direction: 'ltr' | 'rtl';
  /** The time zone that the reader chose; absent if times are in the site’s zone. */
  readonly zone: string | undefined;
  /** Its origin, for absolute URLs. */
  readonly baseUrl: string;
}

export interface TemplateViewer {
  /** Absent for guests. */
  readonly id: string | undefined;
  /** Absent for guests. */
  readonly username: string | undefined;
  /** Their display name, in the layout and its partials; null elsewhere, and if they have none. */
  readonly display_name: string | null;
  /** Their picture, in the layout and its partials; null elsewhere, and if they have none. */
  readonly avatar_url: string | null;
  /** Level of their group: `banned`, `guest`, `member`, `moderator` or `admin`. */
  readonly level: Level;
  /** Whether they are not logged in. */
  readonly guest: boolean;
  /** Whether they are logged in. */
  readonly member: boolean;
  /** Whether they are a moderator or an administrator. */
  readonly staff: boolean;
  /** Whether they are an administrator. */
  readonly admin: boolean;
}

export interface TemplatePage {
  /**
   * Its name in style sheets; `fragment` for a part that is rendered on its own, where all other properties are absent.
   */
  readonly name: string;
  /** Its heading, without the site’s name. */
  readonly title: string;
  /** Path and query of the request. */
  readonly path: string;
  /** Path and query to return to after logging in; absent for pages to which returning makes no sense. */
  readonly returnTo: string | undefined;
  /** A sentence about what was just done or has happened; absent if there is none. */
  readonly notice: string | undefined;
  /** The kind of that sentence: `success`, or `info` for something that the visitor did not do. */
  readonly noticeKind: string | undefined;
  /** Path of the form that undoes what the notice reports; absent if that is not possible. */
  readonly undo: string | undefined;
  /** Until when the member need not enter the password again. */
  readonly confirmedUntil: Date | undefined;
  /** Whether it shows a refused form again because the session had ended. */
  readonly sessionEnded: boolean | undefined;
  /** Its feeds: `title`, `href`, `type`. */
  readonly feeds: readonly { readonly title: string; readonly href: string; readonly type: string }[];
}

export interface TemplateLink {
  /** In the language of the page. */
  readonly label: string;
  /** A path on the site. */
  readonly href: string;
  /** Name for the helper `icon`; absent if it has none. */
  readonly icon: string | undefined;
  /** The number of items that await the reader; 0 for none. */
  readonly count: number | undefined;
  /** Whether it leads to this page. */
  readonly current: boolean;
}

export interface TemplateSection {
  /** In the language of the page. */
  readonly title: string;
  /** Its links: `label`, `href`, `hue`, `count`, `current`. */
  readonly items: readonly {
    readonly label: string;
    readonly href: string;
    readonly hue?: number;
    readonly count?: number;
    readonly current: boolean;
  }[];
}

/** The viewer for whom a page is rendered, and how. */
export interface PageContext {
  readonly viewer: Viewer;
  readonly locale: Locale;
  readonly preferences: Preferences;
  /** Path and query of the request. */
  readonly url: string;
  readonly notice: Notice | undefined;
  /** Until when the member need not enter the password again. */
  readonly confirmedUntil?: Date | undefined;
  /** Whether it shows a refused form again because the sender's session had ended. */
  readonly sessionEnded?: boolean | undefined;
}

export const siteData = (
  { name, icon }: Pick<Branding, 'name' | 'icon'>,
  baseUrl: string,
  locale: Locale,
): TemplateSite => ({
  name,
  initial: [...name.trim()][0] ?? '',
  icon,
  language: locale.id,
  direction: locale.direction,
  zone: locale.ownZone,
  baseUrl,
});

export const viewerData = (viewer: Viewer, account?: Account): TemplateViewer => ({
  id: viewer.id,
  username: viewer.username,
  display_name: account?.displayName ?? null,
  avatar_url: account?.avatarUrl ?? null,
  level: viewer.group.level,
  guest: isGuest(viewer),
  member: !isGuest(viewer),
  staff: isStaff(viewer),
  admin: isAdmin(viewer),
});

export const pageData = (
  head: PageHead,
  { locale, url, notice, confirmedUntil, sessionEnded }: PageContext,
): TemplatePage => ({
  name: head.name,
  title: locale.say(head.title),
  path: url,
  returnTo: NO_RETURN.test(url) ? undefined : url,
  notice: notice?.text,
  noticeKind: notice && (notice.kind ?? 'success'),
  undo: notice?.undo,
  confirmedUntil,
  sessionEnded,
  feeds: (head.feeds ?? []).map((feed: PageFeed) => ({ ...feed, title: locale.say(feed.title) })),
});
/** Pages that make no sense as a target after logging in. */
const NO_RETURN = /^\/(login|register|logout|password)?([/?]|$)/;
