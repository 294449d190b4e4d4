import type { Awaitable, Extension } from 'parley-forum';
import { isAdmin, isGuest, isStaff, type Viewer } from 'parley-forum/plugins/access';
import {
  SafeHtml,
  type NavigationItem,
  type PageFeed,
  type PageHead,
  type SidebarSection,
  type SlotFilling,
  type View,
} from '../api.ts';
import type { Scope } from '../templates/helpers.ts';
import { renderHead } from './head.ts';
import type { Locale } from '../themes/locales.ts';
import type { Look } from '../themes/theme-bundle.ts';
import type { Preferences } from '../appearance/preferences.ts';
import { SLOT_BUDGET, SlotPlaces, type Attempt } from './slots.ts';

/** For whom and in which way a page is made. */
export interface Setting {
  readonly viewer: Viewer;
  readonly locale: Locale;
  readonly preferences: Preferences;
  /** Path and query of the request. */
  readonly url: string;
  readonly notice: string | undefined;
  /** Until when the member need not give the password again. */
  readonly confirmedUntil?: Date | undefined;
}

export interface Made {
  /** The page with marks where each answer differs. */
  readonly text: string;
  /** False when a plugin's part is missing: such a page must not be kept. */
  readonly complete: boolean;
  /** Under which it is kept besides those of its route. */
  readonly tags: readonly string[];
}

interface Navigation {
  readonly areas: Readonly<Record<NavigationItem['area'], readonly object[]>>;
  readonly complete: boolean;
  readonly tags: readonly string[];
}

export interface PageParts {
  readonly siteName: () => string;
  readonly sitePicture: () => string;
  readonly baseUrl: string;
  readonly now: () => number;
  readonly attempt: Attempt;
  readonly fillings: () => readonly Extension<SlotFilling>[];
  readonly navigation: () => readonly Extension<NavigationItem>[];
  readonly sidebar: () => readonly Extension<SidebarSection>[];
  readonly feeds: () => readonly Extension<(head: PageHead) => Awaitable<readonly PageFeed[]>>[];
  /** Makes the look of the day; `worn` is the one of before. */
  dress(worn: Look | undefined): Look;
  /** The picture of a member, for the bar. */
  avatarOf(viewer: Viewer): Promise<string | null>;
}

/**
 * Makes pages and pieces of pages with the look of the day. Data is collected first, then everything renders
 * synchronously.
 */
export class Pages {
  readonly #parts: PageParts;
  #look: Look | undefined;
  #outdated = true;
  #generation = 0;
  #scope: Scope | undefined;

  constructor(parts: PageParts) {
    this.#parts = parts;
  }

  /** For the helpers: only while something renders. */
  readonly scope = (): Scope => {
    if (!this.#scope) throw new Error('helpers are for templates; nothing is being rendered');
    return this.#scope;
  };

  get look(): Look {
    if (!this.#look || this.#outdated) this.#look = this.#parts.dress(this.#look);
    this.#outdated = false;
    return this.#look;
  }

  /** The next page is made with a new look. */
  renew(): void {
    this.#outdated = true;
    this.#generation++;
  }

  /** Of the look, and of how often it was renewed: while a plugin restarts, pages lack what it adds to them. */
  get hash(): string {
    return `${this.look.hash}.${this.#generation}`;
  }

  async page({ template, head: own, model, frame }: View, setting: Setting): Promise<Made> {
    const { look } = this;
    const feeds = await this.#feeds(own);
    const head = { ...own, feeds: feeds.list };
    const [navigation, sidebar, avatar] = await Promise.all([
      this.#navigation(setting, head),
      this.#sidebar(setting, head),
      this.#parts.avatarOf(setting.viewer),
    ]);
    const data = {
      ...this.#data(setting, avatar),
      navigation: navigation.areas,
      sidebar: sidebar.sections,
      page: pageData(head, setting),
    };
    const places = new SlotPlaces();
    const text = this.#within(look, setting, places, head, () => {
      const inner = new SafeHtml(look.templates.get(template)(model, { data }));
      const body =
        frame === undefined ? inner : new SafeHtml(look.templates.get(frame)({ body: inner, model }, { data }));
      return look.templates.get('layout')({ body, model }, { data });
    });
    const filled = await places.fill(text, this.#parts.fillings(), setting.viewer, this.#parts.attempt);
    const complete = filled.complete && navigation.complete && sidebar.complete && feeds.complete;
    return { text: squeeze(filled.text), complete, tags: navigation.tags };
  }

  /** A template by itself. Its forms come without a forgery token: the page's script puts the page's own in. */
  async fragment(template: string, model: object, setting: Setting): Promise<Made> {
    const { look } = this;
    const places = new SlotPlaces();
    const data = { ...this.#data(setting, null), page: { name: 'fragment' } };
    const text = this.#within(look, setting, places, undefined, () => look.templates.get(template)(model, { data }));
    const filled = await places.fill(text, this.#parts.fillings(), setting.viewer, this.#parts.attempt);
    return { text: squeeze(filled.text), complete: filled.complete, tags: [] };
  }

  #within(look: Look, setting: Setting, places: SlotPlaces, head: PageHead | undefined, render: () => string): string {
    const { locale, preferences, viewer } = setting;
    const { siteName, sitePicture, baseUrl, now } = this.#parts;
    this.#scope = {
      locale,
      now: now(),
      regions: new Map(),
      asset: look.asset,
      icon: (name) => look.icons.get(name),
      slot: (id, context, fallback) => places.add(id, context, fallback),
      head: () =>
        head
          ? renderHead({
              head,
              look,
              locale,
              siteName: siteName(),
              sitePicture: sitePicture(),
              baseUrl,
              scheme: preferences.scheme,
              member: !isGuest(viewer),
            })
          : new SafeHtml(''),
      foot: () => new SafeHtml('<div id="announcer" class="hidden" role="status" aria-live="polite"></div>'),
    };
    try {
      return render();
    } finally {
      this.#scope = undefined;
    }
  }

  #data({ viewer, locale, preferences }: Setting, avatar: string | null): Record<string, unknown> {
    const name = this.#parts.siteName();
    return {
      site: {
        name,
        initial: [...name.trim()][0] ?? '',
        language: locale.id,
        direction: locale.direction,
        baseUrl: this.#parts.baseUrl,
      },
      viewer: {
        id: viewer.id,
        username: viewer.username,
        avatar_url: avatar,
        level: viewer.group.level,
        guest: isGuest(viewer),
        member: !isGuest(viewer),
        staff: isStaff(viewer),
        admin: isAdmin(viewer),
      },
      preferences,
    };
  }

  async #navigation({ viewer, locale, url }: Setting, head: PageHead): Promise<Navigation> {
    const items = this.#parts.navigation().filter(({ value }) => value.visible?.(viewer) ?? true);
    const counts = await Promise.all(
      items.map(async ({ plugin, value: { count, label } }) =>
        count ? this.#parts.attempt(plugin, `number of ${label}`, () => count.of(viewer), SLOT_BUDGET) : 0,
      ),
    );
    const path = head.current ?? url.split('?')[0];
    const shown = items.map(({ value: { area, label, href, icon } }, at) => ({
      area,
      item: { label: localised(locale, label), href, icon, count: counts[at], current: href === path },
    }));
    const of = (area: NavigationItem['area']): object[] =>
      shown.filter((one) => one.area === area).map(({ item }) => item);
    return {
      areas: {
        main: of('main'),
        account: of('account'),
        settings: of('settings'),
        footer: of('footer'),
        moderation: of('moderation'),
      },
      complete: counts.every((count) => count !== undefined),
      tags: items.flatMap(({ value }) => value.count?.tags ?? []),
    };
  }

  async #feeds(head: PageHead): Promise<{ readonly list: readonly PageFeed[]; readonly complete: boolean }> {
    const { attempt, feeds } = this.#parts;
    const added = await Promise.all(
      feeds().map(({ plugin, value }) => attempt(plugin, 'feeds of a page', () => value(head), SLOT_BUDGET)),
    );
    return {
      list: [...(head.feeds ?? []), ...added.flatMap((list) => list ?? [])],
      complete: added.every((list) => list !== undefined),
    };
  }

  async #sidebar(
    { viewer, locale, url }: Setting,
    head: PageHead,
  ): Promise<{ readonly sections: readonly object[]; readonly complete: boolean }> {
    const path = head.current ?? url.split('?')[0];
    const answers = await Promise.all(
      this.#parts.sidebar().map(async ({ plugin, value }) => {
        const items = await this.#parts.attempt(
          plugin,
          `sidebar ${value.title}`,
          () => value.items(viewer),
          SLOT_BUDGET,
        );
        return (
          items && {
            title: localised(locale, value.title),
            items: items.map((item) => ({
              ...item,
              label: localised(locale, item.label),
              current: item.href === path,
            })),
          }
        );
      }),
    );
    const sections = answers.filter((section) => section !== undefined);
    return {
      sections: sections.filter((section) => section.items.length > 0),
      complete: sections.length === answers.length,
    };
  }
}

const pageData = (head: PageHead, { url, notice, confirmedUntil }: Setting): object => ({
  name: head.name,
  title: head.title,
  rail: `rail.${head.name}`,
  path: url,
  returnTo: RETURNLESS.test(url) ? undefined : url,
  notice,
  confirmedUntil,
  feeds: head.feeds ?? [],
});
/** Pages nobody wants to come back to after logging in. */
const RETURNLESS = /^\/(login|register|logout|password)?([/?]|$)/;

/** `plugin:key` is looked up; anything else is shown as it is. */
const localised = (locale: Locale, label: string): string =>
  /^[a-z][a-z0-9-]*:[a-z0-9_.-]+$/i.test(label) ? locale.text(label) : label;

/** Templates are written for people: lines that hold nothing and the space before lines are not worth sending. */
const squeeze = (text: string): string =>
  text.includes('<textarea') || text.includes('<pre')
    ? text.replace(/\n(?:[ \t]*\n)+(?=<)/g, '\n')
    : text.replace(/\n\s*\n/g, '\n');
