import { isAdmin, isGuest, isStaff, type Level, type Viewer } from 'parley-forum/plugins/access';
import type { Account } from 'parley-forum/plugins/accounts';
import type { NavigationItem, PageFeed, PageHead } from '../api.ts';
import type { Preferences } from '../appearance/preferences.ts';
import type { Branding } from '../themes/branding.ts';
import type { Locale } from '../themes/locales.ts';
import type { Notice } from './flash-notices.ts';

/** What every template has besides what it is given: `site` as `@site`, and so on. The reference is made of it. */
export interface TemplateData {
  /** The site, and the language of the page. */
  readonly site: TemplateSite;
  /** Whoever the page is for. */
  readonly viewer: TemplateViewer;
  /** How they chose to see pages; empty where they chose nothing. */
  readonly preferences: Preferences;
  /** The page itself; absent from what is put into slots. */
  readonly page?: TemplatePage | { readonly name: string };
  /** Links by area; of the layout and its partials, and of views that are made for one reader. */
  readonly navigation?: Readonly<Record<NavigationItem['area'], readonly TemplateLink[]>>;
  /** Groups of links beside every page, where `navigation` is. */
  readonly sidebar?: readonly TemplateSection[];
}

export interface TemplateSite {
  /** What the operators call the site. */
  readonly name: string;
  /** The first letter of its name, for a mark. */
  readonly initial: string;
  /** Path of the icon that the operators gave it; empty where the theme’s own holds. */
  readonly icon: string;
  /** Of the page: `en`, `pt-BR`. */
  readonly language: string;
  /** In which the language is written. */
  readonly direction: 'ltr' | 'rtl';
  /** The time zone that the reader chose; absent where times are the site’s. */
  readonly zone: string | undefined;
  /** Its origin, for addresses outside of pages. */
  readonly baseUrl: string;
}

export interface TemplateViewer {
  /** Absent for guests. */
  readonly id: string | undefined;
  /** Absent for guests. */
  readonly username: string | undefined;
  /** A name of their own choice, in the layout and its partials; null elsewhere, and where they chose none. */
  readonly display_name: string | null;
  /** Their picture, in the layout and its partials; null elsewhere, and where there is none. */
  readonly avatar_url: string | null;
  /** Of their group: `banned`, `guest`, `member`, `moderator` or `admin`. */
  readonly level: Level;
  /** Whether they are not logged in. */
  readonly guest: boolean;
  /** Whether they are logged in. */
  readonly member: boolean;
  /** Whether they are moderator or administrator. */
  readonly staff: boolean;
  /** Whether they are administrator. */
  readonly admin: boolean;
}

export interface TemplatePage {
  /** By which style sheets know it; `fragment` where a part is made by itself, which has nothing else of these. */
  readonly name: string;
  /** Its heading, without the site’s name. */
  readonly title: string;
  /** Path and query, as it was called. */
  readonly path: string;
  /** The same, as a place to go back to after logging in; absent where that makes no sense. */
  readonly returnTo: string | undefined;
  /** What was just done, or has happened, in a sentence; absent where nothing was. */
  readonly notice: string | undefined;
  /** Of that: `success`, or `info` where it is nothing that the visitor has done. */
  readonly noticeKind: string | undefined;
  /** Path of the form that takes that back; absent where nothing can. */
  readonly undo: string | undefined;
  /** Until when a member need not give the password again. */
  readonly confirmedUntil: Date | undefined;
  /** Whether it shows a form again that was refused because the session was over. */
  readonly sessionEnded: boolean | undefined;
  /** Its feeds: `title`, `href`, `type`. */
  readonly feeds: readonly { readonly title: string; readonly href: string; readonly type: string }[];
}

export interface TemplateLink {
  /** In the language of the page. */
  readonly label: string;
  /** A path of the site. */
  readonly href: string;
  /** For `icon`; absent where it has none. */
  readonly icon: string | undefined;
  /** What waits for the reader; 0 for none. */
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

/** Who a page is rendered for, and how. */
export interface PageContext {
  readonly viewer: Viewer;
  readonly locale: Locale;
  readonly preferences: Preferences;
  /** Path and query of the request. */
  readonly url: string;
  readonly notice: Notice | undefined;
  /** Until when the member need not give the password again. */
  readonly confirmedUntil?: Date | undefined;
  /** It shows a form again that was refused because the session of its sender is over. */
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
