import {
  defineAction,
  defineExtensionPoint,
  defineSurface,
  defineToken,
  Type,
  type Awaitable,
  type FieldProblem,
  type HttpError,
  type Request,
  type Response,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Multipart } from 'parley-forum/plugins/api';

/** HTML that may be sent as it is: produced by the `html` tag, a template, or the sanitiser; never from text. */
export class SafeHtml {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

/**
 * A tagged template that escapes everything but `SafeHtml`; arrays are joined, `undefined`, `null` and `false` left
 * out.
 */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): SafeHtml {
  const show = (value: unknown): string => {
    if (value === undefined || value === null || value === false) return '';
    if (Array.isArray(value)) return value.map(show).join('');
    return value instanceof SafeHtml ? value.toString() : escapeHtml(String(value));
  };
  return new SafeHtml(strings.map((text, index) => text + show(values[index])).join(''));
}

/**
 * Placeholder for the visitor's CSRF token until the page is sent, as long as one. Only `web` needs it; others use
 * `csrfField`.
 */
export const csrfPlaceholder: string = `c${crypto.randomUUID().replaceAll('-', '')}`.padEnd(43, 'c');
/** The hidden field of a form that a slot renders with `html`; templates write `{{#form}}`, which adds it. */
export const csrfField: SafeHtml = html`<input type="hidden" name="_csrf" value="${csrfPlaceholder}">`;

/** A text of a plugin (`plugin:key`), put into words in the language of whoever reads it. */
export interface Phrase {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}
/** `values` stand in place of the text's `{placeholders}`; `count` among them chooses the plural. */
export const phrase = (key: string, values: Phrase['values'] = {}): Phrase => ({ key, values });
/** What somebody named so in words of their own, or a phrase. */
export type Wording = string | Phrase;

/** A feed of what a page shows: in its head for programs, in the footer for people. */
export interface PageFeed {
  readonly title: Wording;
  readonly href: string;
  /** Media type. */
  readonly type: string;
}
export const pageFeeds = defineExtensionPoint<(head: PageHead) => Awaitable<readonly PageFeed[]>>(
  'web.feeds',
  'Adds feeds to other plugins’ pages by their heads; called for each page that is rendered, so it must be quick.',
  { order: 'The place among the page’s feeds.' },
);

/** A picture that stands for a page where a link to it is shown. */
export interface PagePicture {
  /** A path of this site, or a URL. */
  readonly url: string;
  /** Pixels, where they are known. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly alt: string;
}

/** What a page says about itself outside its body. */
export interface PageHead {
  readonly title: Wording;
  readonly description?: string;
  /** Path of the page's canonical URL. */
  readonly canonical?: string;
  /** Excluded from search engines. */
  readonly noindex?: boolean;
  /** Id of what the page shows, a category for instance, for plugins that add to its head. */
  readonly subject?: string;
  readonly feeds?: readonly PageFeed[];
  /** Default: the site's own. */
  readonly picture?: PagePicture | undefined;
  /** schema.org data, serialised safely into a data block. */
  readonly structuredData?: object;
  /** Which navigation entry is current, by its href. */
  readonly current?: string;
  /** Name for styles and page budgets: `home`, `discussion`. */
  readonly name: string;
}

export interface View {
  readonly kind: 'view';
  /** `@plugin/name`: views/name.hbs of that plugin, or the theme's override of it. */
  readonly template: string;
  readonly head: PageHead;
  readonly model: object;
  readonly status: number;
  /** A template around the rendered one, given `body` and the same `model`: a panel's own navigation, for instance. */
  readonly frame?: string;
}
export interface Redirect {
  readonly kind: 'redirect';
  readonly to: string;
  readonly status: number;
  /** Shown once on the next page, as a polite status. */
  readonly notice: Wording | undefined;
  /** `info` where nothing was done, such as where something else has to be done first; `success` without it. */
  readonly noticeKind?: 'success' | 'info' | undefined;
  /** Path of the form, without fields, that takes back what the notice tells of: a button beside it. */
  readonly undo?: string | undefined;
}
/** A page for browsers, JSON for `Accept: application/json`; of an `HttpError` its failure. */
export interface Negotiated {
  readonly kind: 'negotiated';
  readonly page: View | Redirect | Resumed;
  readonly json: object;
  readonly status: number;
}
/** After a confirmation: the form that was sent before it, or another page where none was. */
export interface Resumed {
  readonly kind: 'resumed';
  readonly pending: string | undefined;
  readonly fallback: Redirect;
}
/** A page whose view is the same for all viewers with the same rights: what is personal in it comes from slots. */
export interface SharedView {
  readonly kind: 'shared';
  readonly variant: string;
  readonly build: (viewer: Viewer) => Awaitable<View>;
}
export type PageResult = View | SharedView | Redirect | Resumed | Negotiated;

export const view = (template: string, head: PageHead, model: object, status = 200): View => ({
  kind: 'view',
  template,
  head,
  model,
  status,
});
/**
 * Renders a page once for all viewers with the same rights, and caches it under the route's `cacheTags`, which must
 * cover all that it shows. `build` is given someone who stands for them all (`Access.representative`), and must read
 * nothing of the caller but by `variant`, which names what else tells viewers apart, such as who is the author. Slots are
 * filled for each viewer, with the same contexts every time. Templates that print who the viewer is are rendered anew.
 */
export const shared = (
  build: SharedView['build'],
  { variant = '' }: { readonly variant?: string } = {},
): SharedView => ({
  kind: 'shared',
  variant,
  build,
});
/** 303 after a form, 301 for a moved page. `to` is a path of this site. */
export const redirect = (
  to: string,
  {
    status = 303,
    notice,
    noticeKind,
    undo,
  }: { status?: number } & Partial<Pick<Redirect, 'notice' | 'noticeKind' | 'undo'>> = {},
): Redirect => ({
  kind: 'redirect',
  to,
  status,
  notice,
  ...(noticeKind !== undefined && { noticeKind }),
  ...(undo !== undefined && { undo }),
});
/** The path of `text` where it is a URL of this site, else `/`: a form that says where it leads leads nowhere else. */
export function localPath(text: string | undefined, baseUrl: string): string {
  if (text === undefined || /[\\\p{Cc}]/v.test(text) || !URL.canParse(text, baseUrl)) return '/';
  const site = new URL(baseUrl);
  const url = new URL(text, site);
  // A path that begins with two slashes would be read as another host.
  return url.origin === site.origin && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : '/';
}
/** `pending`: what the form that asks for the password brought along. */
export const resumed = (pending: string | undefined, fallback: Redirect): Resumed => ({
  kind: 'resumed',
  pending,
  fallback,
});
export const negotiated = (page: Negotiated['page'], json: object, status = 200): Negotiated => ({
  kind: 'negotiated',
  page,
  json,
  status,
});

/**
 * What a form handler's `rerender` gets when the forgery token or the input was refused: render the form with what was
 * entered.
 */
export interface Retry {
  readonly req: Request;
  readonly res: Response;
  readonly actor: Viewer;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly problems: readonly FieldProblem[];
  /** One sentence that says what to do. */
  readonly message: string;
  readonly status: number;
}

/**
 * What `partials/problems` and fields show of a refused form: `wrong` is by field. Nothing for a form that is shown for
 * the first time.
 */
export const formErrors = (retry: Pick<Retry, 'message' | 'problems'> | undefined) => ({
  message: retry?.message,
  problems: retry?.problems ?? [],
  wrong: errorsByField(retry?.problems ?? []),
});

/** By field, all that is wrong with it. */
export const errorsByField = (problems: readonly FieldProblem[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...Map.groupBy(problems, ({ field }) => field)].map(([field, own]) => [
      field,
      own.map(({ message }) => message).join('; '),
    ]),
  );

/** What a switch of a form is set to: it sends "false" and, when it is on, "true" after it, so that the last counts. */
export const switchValue = (sent: unknown): unknown => (Array.isArray(sent) ? sent.at(-1) : sent);

type FormValues = Readonly<Record<string, unknown>>;
/** For the body of a form that is written with `form … opened=`. */
export const OpenedField = { _opened: Type.Optional(Type.String()) } as const;
/** What a form begins with, for `form … opened=`: what nobody touches in it stays as others make it meanwhile. */
export const openedForm = (values: FormValues): string => JSON.stringify(values);

/** By what values are compared: choices have no order, and forms send an empty one besides; lines end alike. */
const comparable = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).filter(Boolean).sort().join() : String(value ?? '').replaceAll('\r\n', '\n');

/** What the fields held when the form was opened; nothing where it does not say. */
export function openedIn({ _opened: text }: FormValues): FormValues {
  try {
    return Object(typeof text === 'string' ? JSON.parse(text) : {}) as FormValues;
  } catch {
    return {};
  }
}

/**
 * The fields that are not as they were when the form was opened; all where it does not say how that was. Of those in
 * `together` one counts for all.
 */
export function touchedIn<T extends FormValues>(sent: T, together: readonly string[] = []): Partial<T> {
  const opened = openedIn(sent);
  const names = Object.keys(sent).filter((name) => name !== '_opened' && sent[name] !== undefined);
  const isTouched = (name: string): boolean =>
    !Object.hasOwn(opened, name) || comparable(sent[name]) !== comparable(opened[name]);
  const all = names.some((name) => together.includes(name) && isTouched(name));
  return Object.fromEntries(
    names.filter((name) => isTouched(name) || (all && together.includes(name))).map((name) => [name, sent[name]]),
  ) as Partial<T>;
}

/** What a route among the pages may say of itself. */
export interface PageOptions {
  readonly csrf?: boolean;
  readonly confirm?: boolean;
  readonly multipart?: Multipart;
  readonly longText?: boolean;
  rerender?(retry: Retry): Awaitable<View>;
  readonly resendButton?: boolean;
}

/** What handlers of pages know of a request. */
export interface PageContext {
  readonly actor: Viewer;
}

/**
 * The surface of pages: everything without a longer prefix. Forms are urlencoded (JSON is accepted too) and carry
 * `_csrf`. Guests who open what is for members, or for holders of a permission that guests lack, are sent to /login and
 * back. Every write below `/admin` asks for `confirm`, whichever plugin it belongs to and whatever its options say.
 */
export const pages = defineSurface<PageContext, PageResult, PageOptions>('pages', {
  prefix: '/',
  options: {
    csrf: '`false`: the form needs no forgery token.',
    confirm:
      '`true`: members must have confirmed within 15 minutes that it is them. They are asked at /login/confirm and come back with what they sent, except secrets; programs get 403 `confirmation_needed`.',
    multipart: 'Reads the body of a form with a file, its fields and `_csrf` among them.',
    longText: '`true`: the form may have up to 1 MiB, where others have 64 KiB.',
    rerender: 'Renders the form anew, with what was typed, when it was refused.',
    resendButton:
      '`true`: the page that `rerender` renders does not show all that is sent, so that after a confirmation one button sends it.',
  },
});

/**
 * A place in pages that plugins fill; templates name it by its id. Slots of items get all items of the page at once, so
 * that a filling needs one query.
 */
export interface Slot<Context> {
  readonly kind: 'slot';
  readonly id: string;
  /** One sentence: where on which page it is, and what belongs there. */
  readonly description: string;
  /** What to fill instead, where it is about to leave. */
  readonly deprecated: string | undefined;
  readonly context?: (context: Context) => void;
}
/** Declares a slot of the plugin's own templates, or of partials that show what is the plugin's. */
export const defineSlot = <Context>(
  id: string,
  description: string,
  { deprecated }: { readonly deprecated?: string } = {},
): Slot<Context> => Object.freeze({ kind: 'slot', id, description, deprecated });

/** Renders one slot for each context; the results keep the contexts' order. After 50 ms it is left out. */
export type Fill<Context> = (
  contexts: readonly Context[],
  viewer: Viewer,
) => readonly (SafeHtml | undefined)[] | Promise<readonly (SafeHtml | undefined)[]>;
export interface SlotFilling {
  // The slot's context type is checked by `fill`.
  readonly slot: Slot<any>;
  readonly render: Fill<any>;
  readonly shared: boolean;
}
/**
 * What is put into a slot. `shared`: it differs by the viewer's rights only, so that pages which are rendered once for
 * many are rendered with it; it is given someone who stands for them all.
 */
export const fill = <Context>(
  slot: Slot<Context>,
  render: Fill<NoInfer<Context>>,
  { shared: same = false }: { readonly shared?: boolean } = {},
): SlotFilling => ({ slot, render, shared: same });
export const slotFillings = defineExtensionPoint<SlotFilling>('web.slots', 'Fills a slot: add `fill(slot, render)`.', {
  order: 'The place among what fills the same slot.',
  about: ({ slot }) => slot,
});

export const headEnd = defineSlot<object>(
  'head.end',
  'At the end of every page’s `<head>`: metadata, links, data blocks.',
);
export const bodyStart = defineSlot<object>(
  'body.start',
  'Before all that is seen of a page: elements without a look of their own.',
);
export const headerStart = defineSlot<object>(
  'header.start',
  'In the bar at the top of every page, before the site’s name.',
);
export const headerSearch = defineSlot<object>(
  'header.search',
  'In the middle of the bar at the top of every page: the search field.',
);
export const headerEnd = defineSlot<object>(
  'header.end',
  'In the bar at the top of every page, before the account menu: icons with a number.',
);
export const navigationEnd = defineSlot<object>(
  'nav.main.end',
  'Beside every page, below the links of the main navigation.',
);
export const sidebarEnd = defineSlot<object>(
  'sidebar.end',
  'Beside every page, below navigation and sidebar sections.',
);
export const mainStart = defineSlot<object>(
  'main.start',
  'Above the content of every page: notices that concern the viewer.',
);
export const textBefore = defineSlot<{ readonly html: SafeHtml }>(
  'text.before',
  'Above a text of a member that is no post, such as a private message, inside its article.',
);
export const homeRail = defineSlot<object>('rail.home', 'Beside the front page: small panels.');
export const footerStart = defineSlot<object>('footer.start', 'In the footer of every page, above its links.');
export const footerEnd = defineSlot<object>(
  'footer.end',
  'In the footer of every page, below its links and the choice of colours.',
);
export const composerCompletion = defineSlot<object>(
  'composer.completion',
  'In the writing field of members, unseen: elements that know how to go on after a sign, `CompletionSource` of `@forum/client`.',
);
export const composerTools = defineSlot<object>(
  'composer.tools',
  'At the end of the bar of writing fields, which is there with script: elements around one button each, `ComposerTool` of `@forum/client`.',
);
export const composerHints = defineSlot<object>(
  'composer.hints',
  'Beside what writing fields say of how texts are written: links to more about that.',
);
/** What an error page says of the error. */
export interface ErrorSlot {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  /** As the log has it. */
  readonly requestId?: string | undefined;
}
export const errorHelp = defineSlot<ErrorSlot>(
  'error.help',
  'On every error page, below the ways on: where to find help.',
);

export interface NavigationItem {
  /**
   * `settings`: a tab among what members choose for themselves. `tabs`: at the foot of small screens, where there is room
   * for an icon and one short word of each of four links.
   */
  readonly area: 'main' | 'tabs' | 'account' | 'settings' | 'footer' | 'moderation';
  readonly label: string;
  readonly href: string;
  readonly icon?: string;
  /** Called for each page; default: everyone sees it. Must be synchronous. */
  visible?(viewer: Viewer): boolean;
  /** A number beside it, none for zero: what waits for the viewer. */
  readonly count?: NavigationCount;
}
/**
 * Read for each page that is rendered; cached pages that show it carry its tags too, which are purged whenever it may
 * have changed.
 */
export interface NavigationCount {
  readonly tags: readonly string[];
  load(viewer: Viewer): Promise<number>;
}
export const navigation = defineExtensionPoint<NavigationItem>(
  'web.navigation',
  'Links in the main, account, settings, footer and moderation navigation of every page, and at the foot of small screens.',
  { order: 'The place within the link’s area.' },
);

/** A key that does something by itself, without Ctrl or Alt. It leads to a page, or presses what is on the page. */
export interface Shortcut {
  /** `plugin.what-it-does`: under it visitors keep a key of their own. */
  readonly id: string;
  /** As `KeyboardEvent.key` has it; `g n`: two, one after the other. */
  readonly keys: string;
  /** Text key of what it does. */
  readonly label: string;
  /** Under which heading it is listed. In `queues` a key may be another one's elsewhere: where both can do something, it comes first. */
  readonly area: 'everywhere' | 'lists' | 'posts' | 'queues';
  /** A path of this site that it leads to. */
  readonly href?: string;
  /**
   * Selector of the link or button to press, or the field to go to: in the row or post that has the focus, else outside
   * of them, else in the one of which most is in view. So whatever a key does can be done without it.
   */
  readonly press?: string;
  /** What it presses may be in the menu of a post, which is opened for it where it is not on the page. */
  readonly inMenu?: boolean;
  /** Default: everyone has it. Must be synchronous. */
  visible?(viewer: Viewer): boolean;
}
export const shortcuts = defineExtensionPoint<Shortcut>(
  'web.shortcuts',
  'Keys that do something by themselves; visitors see them at /keyboard, change them, and may switch all of them off.',
  { order: 'The place within the area; of two with the same keys the first has them.' },
);

/** Groups of links in the sidebar, such as the categories; read once per page. */
export interface SidebarSection {
  readonly title: string;
  items(
    viewer: Viewer,
  ): Promise<
    readonly { readonly label: string; readonly href: string; readonly hue?: number; readonly count?: number }[]
  >;
}
export const sidebarSections = defineExtensionPoint<SidebarSection>(
  'web.sidebar',
  'Groups of links beside every page, such as the categories; read once for each page.',
  { order: 'The place in the sidebar.' },
);

/**
 * Called after a page was sent to a person, from the cache too; used for view counts. Must be quick and must not throw.
 */
export interface PageViewListener {
  /** `path` with its query; `key` distinguishes browsers behind one IP, where a returning guest's cookie allows it. */
  onPageView(page: {
    readonly path: string;
    readonly viewer: Viewer;
    readonly ip: string;
    readonly userAgent: string;
    readonly key: string | undefined;
  }): void;
}
export const pageViewListeners = defineExtensionPoint<PageViewListener>(
  'web.page-view-listeners',
  'Called after a page was sent to a person, from the page cache too; must be quick and must not throw.',
  { order: 'The order in which they are called.' },
);

/** Texts in one language. */
export interface Texts {
  /** Of the language. */
  readonly id: string;
  /** `plugin:key`; `count` chooses the plural, and phrases among the values are said, too. */
  text(key: string, values?: Readonly<Record<string, unknown>>): string;
  /** What a plugin declares in code, such as its name; several may mean different things by one word. */
  declared(text: string, plugin?: string): string;
  /** Name of the time zone in which times are told. */
  readonly zone: string;
  /** Date and time, with their zone, and the day alone. */
  date(moment: Date): string;
  day(moment: Date): string;
}

/** Another theme was chosen, outside of the panel’s form of settings. Raised in the transaction that stores it. */
export const themeChosen = defineAction<{
  readonly theme: string;
  /** The account that did it, or `commandLine`. */
  readonly by: string;
}>('web.theme-chosen');

/** What there is to say of a theme before it is used. */
export interface ThemeReport {
  readonly id: string;
  /** Its id where it has none that can be read. */
  readonly name: string;
  /** The theme that it builds on; undefined for the default one, and where that cannot be read. */
  readonly parent: string | undefined;
  /** Why it cannot be used, a sentence each, with file and line. */
  readonly problems: readonly string[];
  /** What will not look as its author meant, of a theme that can be used: a sentence each. */
  readonly warnings: readonly string[];
}

/** What pages are made of, for plugins that render parts of them or speak to browsers in other ways. */
export interface Web {
  /**
   * A fragment of a page, such as what fills a slot or the `html` of a list, rendered in the current theme and the
   * language of whoever is being answered. `inSiteLanguage`: for what is kept for others, too.
   */
  fragment(
    viewer: Viewer,
    template: string,
    model: object,
    options?: { readonly inSiteLanguage?: boolean },
  ): Promise<SafeHtml>;
  /**
   * A text (`plugin:key`) in the site's own language, for what is not a page, such as emails; `count` chooses the
   * plural. Pages have their texts from templates and phrases, in their readers' languages.
   */
  text(key: string, values?: Readonly<Record<string, unknown>>): string;
  /**
   * Texts for members, by id, in the languages they chose and with times in their zones, else the site's: for what is
   * written to them while somebody else is answered, or nobody, such as mails. At most one statement.
   */
  textsFor(ids: readonly string[]): Promise<(id: string) => Texts>;
  /** Id of the language of whoever is being answered; the site's own while nobody is. */
  readonly language: string;
  /** Name of the time zone in which times are told to them, as `language`. */
  readonly zone: string;
  /** In that language, for texts that neither a template nor a phrase can say. */
  say(wording: Wording): string;
  /**
   * The message of a failure, or of one field's problem, in that language: for pages that show one themselves. The error
   * page and refused forms have theirs in it already.
   */
  failure(message: string): string;
  /**
   * In that language, what a plugin declares in code: its name and description, the title of a setting. By the id of the
   * plugin its own translation is taken, as several may mean different things by one word.
   */
  declared(text: string, plugin?: string): string;
  /**
   * Sends the error page, for surfaces that have no pages; false, without a response, unless a browser is opening a
   * page.
   */
  sendErrorPage(req: Request, res: Response, failure: HttpError): Promise<boolean>;
  /**
   * Sets a flash notice: a sentence shown on the next page that this browser opens, as `redirect` does. For surfaces
   * without pages.
   */
  setNotice(req: Request, res: Response, text: Wording): void;
  /**
   * Why pages use a theme other than the chosen one, or an older version of it; undefined while all is well.
   */
  readonly themeProblem: string | undefined;
  /** Which colours of the theme in use are harder to read than WCAG 2.2 AA asks, as a sentence; undefined for none. */
  readonly themeWarning: string | undefined;
  /** Changes with the theme in use, the running plugins and their files: pages of another one are outdated. */
  readonly version: string;
  /** Ids of the themes that are installed. */
  readonly themes: readonly string[];
  /** Reads all of a theme and what it builds on, and says what is wrong; nothing comes into use by that. */
  inspectTheme(id: string): ThemeReport;
  /** Shows pages in it from now on. `by`: an account’s id or `commandLine`. Throws 400 where it cannot be used. */
  useTheme(id: string, by: string): Promise<void>;
  /** Ids of the languages that are installed. */
  readonly languages: readonly string[];
  /** The URL of a plugin's public or client file, with its tree's hash. */
  asset(plugin: string, path: string): string;
  /**
   * View model of a form for a JSON Schema, with values and problems, for the `form/schema` partial. Titles and
   * descriptions are said as `declared` says them, of a field with `x-plugin` by that plugin.
   */
  form(schema: object, values: Readonly<Record<string, unknown>>, problems?: readonly FieldProblem[]): object;
}
export const Web = defineToken<Web>('Web');

/**
 * Cache tag of all that was rendered: purged when something changes that every page shows, such as name, navigation or
 * theme.
 */
export const renderedTag = 'web.rendered';
/** Milliseconds for which rendered HTML may be cached: it contains relative times. */
export const RENDERED_TTL = 60_000;

export interface PagerLink {
  readonly number: number;
  readonly href: string;
  readonly current: boolean;
  readonly gap: boolean;
}
export interface Pager {
  readonly page: number;
  readonly pages: number;
  readonly previous: string | undefined;
  readonly next: string | undefined;
  readonly links: readonly PagerLink[];
}

/**
 * What `partials/pager` shows: first, last, the current page and its neighbours. `href` makes a page's URL; pages
 * count from 1.
 */
export function pagerOf(page: number, pages: number, href: (page: number) => string): Pager {
  const shown = [...new Set([1, page - 1, page, page + 1, pages])]
    .filter((number) => number >= 1 && number <= pages)
    .sort((a, b) => a - b);
  const links = shown.flatMap((number, index): PagerLink[] => {
    const own = { number, href: href(number), current: number === page, gap: false };
    const skipped = index > 0 && number - (shown[index - 1] ?? number) > 1;
    return skipped ? [{ number: 0, href: '', current: false, gap: true }, own] : [own];
  });
  return {
    page,
    pages,
    previous: page > 1 ? href(page - 1) : undefined,
    next: page < pages ? href(page + 1) : undefined,
    links,
  };
}
