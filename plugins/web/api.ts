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

/** HTML that may be sent unescaped. Created by the `html` tag, a template or the sanitiser, never from plain text. */
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
 * A tagged template that escapes every value except `SafeHtml`. Arrays are joined; `undefined`, `null` and `false`
 * render as nothing.
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
 * Stands for the visitor's CSRF token until the page is sent, and has the same length. Only `web` needs it; other
 * plugins use `csrfField`.
 */
export const csrfPlaceholder: string = `c${crypto.randomUUID().replaceAll('-', '')}`.padEnd(43, 'c');
/** The hidden CSRF field for forms that a slot renders with `html`. Templates write `{{#form}}`, which adds it. */
export const csrfField: SafeHtml = html`<input type="hidden" name="_csrf" value="${csrfPlaceholder}">`;

/** A plugin's text (`plugin:key`), translated into the reader's language when it is shown. */
export interface Phrase {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}
/** `values` replace the text's `{placeholders}`; `count` among them selects the plural form. */
export const phrase = (key: string, values: Phrase['values'] = {}): Phrase => ({ key, values });
/** Literal text that someone entered, such as a category's name, or a phrase to translate. */
export type Wording = string | Phrase;

/** A feed of the page's content: linked in the `<head>` for feed readers and in the footer for people. */
export interface PageFeed {
  readonly title: Wording;
  readonly href: string;
  /** Media type. */
  readonly type: string;
}
export const pageFeeds = defineExtensionPoint<(head: PageHead) => Awaitable<readonly PageFeed[]>>(
  'web.feeds',
  'Adds feeds to other plugins’ pages, depending on their heads; called for each page that is rendered, so it must be fast.',
  { order: 'The position among the page’s feeds.' },
);

/** The picture that represents a page where a link to it is shared. */
export interface PagePicture {
  /** A path on this site, or a URL. */
  readonly url: string;
  /** In pixels, if known. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly alt: string;
}

/** Metadata of a page: everything about it outside its body. */
export interface PageHead {
  readonly title: Wording;
  readonly description?: string;
  /** Path of the page's canonical URL. */
  readonly canonical?: string;
  /** Excluded from search engines. */
  readonly noindex?: boolean;
  /** Id of the object that the page shows, such as a category, for plugins that add to its head. */
  readonly subject?: string;
  readonly feeds?: readonly PageFeed[];
  /** Default: the site's own picture. */
  readonly picture?: PagePicture | undefined;
  /** schema.org data, serialised safely into a data block. */
  readonly structuredData?: object;
  /** The href of the current navigation entry. */
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
  /**
   * A template that wraps the rendered one, given `body` and the same `model`; for instance a panel with navigation of
   * its own.
   */
  readonly frame?: string;
}
export interface Redirect {
  readonly kind: 'redirect';
  readonly to: string;
  readonly status: number;
  /** Shown once on the next page, in a polite live region. */
  readonly notice: Wording | undefined;
  /** `info` where nothing was done, such as where something else has to be done first; `success` without it. */
  readonly noticeKind?: 'success' | 'info' | undefined;
  /** Path of the form, without fields, that takes back what the notice tells of: a button beside it. */
  readonly undo?: string | undefined;
}
/** A page for browsers, JSON for `Accept: application/json`. An `HttpError` becomes an error page or a JSON failure. */
export interface Negotiated {
  readonly kind: 'negotiated';
  readonly page: View | Redirect | Resumed;
  readonly json: object;
  readonly status: number;
}
/** After a confirmation: resubmits the pending form, or redirects to `fallback` if there is none. */
export interface Resumed {
  readonly kind: 'resumed';
  readonly pending: string | undefined;
  readonly fallback: Redirect;
}
/** A page whose view is the same for all viewers with the same rights; its personal parts come from slots. */
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
 * Renders a page once for all viewers with the same rights and caches it under the route's `cacheTags`, which must
 * cover everything that it shows. `build` is called with a representative of these viewers (`Access.representative`)
 * and must not depend on the caller except through `variant`, which names any other distinction between viewers, such
 * as whether they are the author. Slots are filled for each viewer, always with the same contexts. Templates that print
 * who the viewer is are rendered for every request.
 */
export const shared = (
  build: SharedView['build'],
  { variant = '' }: { readonly variant?: string } = {},
): SharedView => ({
  kind: 'shared',
  variant,
  build,
});
/** 303 after a form, 301 for a moved page. `to` is a path on this site. */
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
  // A path that starts with two slashes would be read as another host.
  return url.origin === site.origin && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : '/';
}
/** `pending`: the sealed form that came with the password confirmation. */
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
 * Passed to a form handler's `rerender` when the CSRF token or the input was refused, to render the form again with the
 * submitted values. It is sent with `status`, whatever the view says.
 */
export interface Retry {
  readonly req: Request;
  readonly res: Response;
  readonly actor: Viewer;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly problems: readonly FieldProblem[];
  /** One sentence that tells the user what to do. */
  readonly message: string;
  readonly status: number;
}

/** The values of a form: the initial ones, or those of a submission that was refused or previewed. */
export interface FormDraft {
  readonly values: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  readonly problems?: readonly FieldProblem[] | undefined;
  readonly preview?: SafeHtml | undefined;
}
export const draftOf = ({ body, message, problems }: Retry): FormDraft => ({ values: body, message, problems });

/** A draft with its text rendered, for those who asked for a preview without script. */
export async function previewOf(
  markdown: { render(content: string): Promise<string> },
  values: FormDraft['values'],
): Promise<FormDraft> {
  const content = textOf(values['content']);
  return { values, preview: content.trim() === '' ? undefined : new SafeHtml(await markdown.render(content)) };
}

/** The value of a field for text, empty if something else was submitted. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * The errors of a refused form as `partials/problems` and fields show them; `wrong` is keyed by field. Empty when the
 * form is shown for the first time.
 */
export const formErrors = (draft: Pick<FormDraft, 'message' | 'problems'> | undefined) => ({
  message: draft?.message,
  problems: draft?.problems ?? [],
  wrong: errorsByField(draft?.problems ?? []),
});

/** All problem messages of each field, joined into one string. */
export const errorsByField = (problems: readonly FieldProblem[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...Map.groupBy(problems, ({ field }) => field)].map(([field, own]) => [
      field,
      own.map(({ message }) => message).join('; '),
    ]),
  );

/**
 * The value of a switch in a form, which sends "false" and, if it is on, "true" after it, so that the last one counts.
 */
export const switchValue = (sent: unknown): unknown => (Array.isArray(sent) ? sent.at(-1) : sent);

type FormValues = Readonly<Record<string, unknown>>;
/** Body schema of the field that `form … opened=` adds. */
export const OpenedField = { _opened: Type.Optional(Type.String()) } as const;
/**
 * The initial values of a form, for `form … opened=`. Fields that the user leaves untouched keep changes that others
 * make in the meantime.
 */
export const openedForm = (values: FormValues): string => JSON.stringify(values);

/**
 * Normalises a value for comparison: the order of choices is ignored, as is the empty choice that forms add, and line
 * endings are unified.
 */
const comparable = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).filter(Boolean).sort().join() : String(value ?? '').replaceAll('\r\n', '\n');

/** The field values when the form was opened; empty if the form did not send them. */
export function openedIn({ _opened: text }: FormValues): FormValues {
  try {
    return Object(typeof text === 'string' ? JSON.parse(text) : {}) as FormValues;
  } catch {
    return {};
  }
}

/**
 * The fields that were changed since the form was opened, or all fields if it did not send its initial values. If one
 * field in `together` was changed, all of them count as changed.
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

/** Options of a route on the pages surface. */
export interface PageOptions {
  readonly csrf?: boolean;
  readonly confirm?: boolean;
  readonly multipart?: Multipart;
  readonly longText?: boolean;
  rerender?(retry: Retry): Awaitable<View>;
  readonly resendButton?: boolean;
}

/** The context that handlers of pages receive with each request. */
export interface PageContext {
  readonly actor: Viewer;
}

/**
 * The surface for pages: every path without a longer prefix. Forms are URL-encoded (JSON is accepted too) and carry
 * `_csrf`. Guests who open a page for members, or for holders of a permission that guests lack, are sent to /login and
 * back. Every write below `/admin` requires `confirm`, whichever plugin owns the route and whatever its options say.
 */
export const pages = defineSurface<PageContext, PageResult, PageOptions>('pages', {
  prefix: '/',
  options: {
    csrf: '`false`: the form needs no forgery token.',
    confirm:
      '`true`: members must have confirmed their identity in the last 15 minutes. They are sent to /login/confirm and return with what they submitted, except secrets; programs get 403 `confirmation_needed`.',
    multipart: 'Reads the body of a form with a file, including its fields and `_csrf`.',
    longText: '`true`: the form may have up to 1 MiB instead of 64 KiB.',
    rerender: 'Renders the form again, with the submitted values, when it was rejected.',
    resendButton:
      '`true`: the page that `rerender` renders does not show everything that is submitted, so that after a confirmation one button submits it.',
  },
});

/**
 * A place in pages that plugins fill; templates refer to it by id. Slots in list items receive all items of the page at
 * once, so that a filling needs only one query.
 */
export interface Slot<Context> {
  readonly kind: 'slot';
  readonly id: string;
  /** One sentence: on which page and where it is, and what belongs there. */
  readonly description: string;
  /** What to fill instead, if this slot is deprecated. */
  readonly deprecated: string | undefined;
  readonly context?: (context: Context) => void;
}
/** Declares a slot in the plugin's own templates, or in partials that show its objects. */
export const defineSlot = <Context>(
  id: string,
  description: string,
  { deprecated }: { readonly deprecated?: string } = {},
): Slot<Context> => Object.freeze({ kind: 'slot', id, description, deprecated });

/** Renders one slot for each context, with results in the same order as the contexts. Dropped if slower than 50 ms. */
export type Fill<Context> = (
  contexts: readonly Context[],
  viewer: Viewer,
) => readonly (SafeHtml | undefined)[] | Promise<readonly (SafeHtml | undefined)[]>;
export interface SlotFilling {
  // `any` is safe here: `fill` checks the slot's context type.
  readonly slot: Slot<any>;
  readonly render: Fill<any>;
  readonly shared: boolean;
}
/**
 * Fills a slot. `shared`: the output depends on the viewer's rights only, so pages that are rendered once for many
 * viewers include it; `render` is then called with a representative of these viewers.
 */
export const fill = <Context>(
  slot: Slot<Context>,
  render: Fill<NoInfer<Context>>,
  { shared: same = false }: { readonly shared?: boolean } = {},
): SlotFilling => ({ slot, render, shared: same });
export const slotFillings = defineExtensionPoint<SlotFilling>('web.slots', 'Fills a slot: add `fill(slot, render)`.', {
  order: 'The position among the fillings of the same slot.',
  about: ({ slot }) => slot,
});

export const headEnd = defineSlot<object>(
  'head.end',
  'At the end of every page’s `<head>`: metadata, links, data blocks.',
);
export const bodyStart = defineSlot<object>(
  'body.start',
  'Before the visible content of every page: elements that are not visible themselves.',
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
  'In the sidebar of every page, below the links of the main navigation.',
);
export const sidebarEnd = defineSlot<object>(
  'sidebar.end',
  'In the sidebar of every page, below navigation and sidebar sections.',
);
export const mainStart = defineSlot<object>(
  'main.start',
  'Above the content of every page: notices that concern the viewer.',
);
export const textBefore = defineSlot<{ readonly html: SafeHtml }>(
  'text.before',
  'Above a member’s text that is not a post, such as a private message, inside its article.',
);
export const homeRail = defineSlot<object>('rail.home', 'Next to the front page: small panels.');
export const footerStart = defineSlot<object>('footer.start', 'In the footer of every page, above its links.');
export const footerEnd = defineSlot<object>(
  'footer.end',
  'In the footer of every page, below its links and the choice of colour scheme.',
);
export const composerCompletion = defineSlot<object>(
  'composer.completion',
  'In members’ composer, invisible: elements that suggest completions after a trigger character, `CompletionSource` of `@forum/client`.',
);
export const composerTools = defineSlot<object>(
  'composer.tools',
  'At the end of the composer’s toolbar, which requires JavaScript: elements that contain one button each, `ComposerTool` of `@forum/client`.',
);
export const composerHints = defineSlot<object>(
  'composer.hints',
  'Next to the composer’s formatting hint: links to further help.',
);
/** The error that an error page shows. */
export interface ErrorSlot {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  /** As it appears in the log. */
  readonly requestId?: string | undefined;
}
export const errorHelp = defineSlot<ErrorSlot>(
  'error.help',
  'On every error page, below its buttons: where to find help.',
);

export interface NavigationItem {
  /**
   * `settings`: a tab among the member's own settings. `tabs`: the bar at the bottom of small screens, which has room
   * for four links, each with an icon and one short word.
   */
  readonly area: 'main' | 'tabs' | 'account' | 'settings' | 'footer' | 'moderation';
  readonly label: string;
  readonly href: string;
  readonly icon?: string;
  /** Called for each page; must be synchronous. Default: visible to everyone. */
  visible?(viewer: Viewer): boolean;
  /** A number beside the link, such as items that await the viewer; hidden when zero. */
  readonly count?: NavigationCount;
}
/**
 * Loaded for each page that is rendered. Cached pages that show it also carry `tags`, which must be purged whenever the
 * number may have changed.
 */
export interface NavigationCount {
  readonly tags: readonly string[];
  load(viewer: Viewer): Promise<number>;
}
export const navigation = defineExtensionPoint<NavigationItem>(
  'web.navigation',
  'Links in the main, account, settings, footer and moderation navigation of every page, and at the bottom of small screens.',
  { order: 'The position within the link’s area.' },
);

/** A single-key shortcut, without Ctrl or Alt, that opens a page or activates an element of the page. */
export interface Shortcut {
  /** `plugin.what-it-does`: visitors' own keys are stored under this id. */
  readonly id: string;
  /** As in `KeyboardEvent.key`; `g n` means two keys in sequence. */
  readonly keys: string;
  /** Text key of the description. */
  readonly label: string;
  /**
   * The heading under which it is listed. A key in `queues` may have another meaning elsewhere; where both apply, the
   * one in `queues` wins.
   */
  readonly area: 'everywhere' | 'lists' | 'posts' | 'queues';
  /** The path on this site that it opens. */
  readonly href?: string;
  /**
   * Selector of the link or button to click, or of the field to focus. Searched first in the focused row or post, then
   * outside of all rows and posts, then in the one that is most in view. Since it only activates existing elements,
   * everything a key does can be done without it.
   */
  readonly press?: string;
  /** The element may be in a post's menu, which is opened if the element is not on the page. */
  readonly inMenu?: boolean;
  /** On pages without such an element, moves to the first or last post of the page. */
  readonly post?: 'first' | 'last';
  /** Must be synchronous. Default: available to everyone. */
  visible?(viewer: Viewer): boolean;
}
export const shortcuts = defineExtensionPoint<Shortcut>(
  'web.shortcuts',
  'Keyboard shortcuts; visitors see them at /keyboard, can change them, and can switch all of them off.',
  { order: 'The position within the area; of two shortcuts with the same keys, the first is used.' },
);

/** A group of links in the sidebar, such as the categories; loaded once per page. */
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
  'Groups of links in the sidebar of every page, such as the categories; loaded once per page.',
  { order: 'The position in the sidebar.' },
);

/**
 * Called after a page was sent to a person, including from the page cache; used for view counts. Must be fast and must
 * not throw.
 */
export interface PageViewListener {
  /**
   * `path` includes the query. `key` distinguishes browsers behind one IP address; it is known for returning guests
   * with a cookie.
   */
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
  'Called after a page was sent to a person, including from the page cache; must be fast and must not throw.',
  { order: 'The order in which they are called.' },
);

/** Texts in one language. */
export interface Texts {
  /** Id of the language. */
  readonly id: string;
  /** `key` is `plugin:key`; `count` selects the plural form, and phrases among the values are translated too. */
  text(key: string, values?: Readonly<Record<string, unknown>>): string;
  /**
   * Translates a text that a plugin declares in code, such as its name. With `plugin`, its own translation is used, as
   * plugins may mean different things by the same word.
   */
  declared(text: string, plugin?: string): string;
  /** Name of the time zone in which times are shown. */
  readonly zone: string;
  /** Date and time with their zone; `day` gives the date alone. */
  date(moment: Date): string;
  day(moment: Date): string;
}

/**
 * Another theme was chosen by other means than the settings form of the panel. Raised in the transaction that stores
 * it.
 */
export const themeChosen = defineAction<{
  readonly theme: string;
  /** The id of the account that chose it, or `commandLine`. */
  readonly by: string;
}>('web.theme-chosen');

/** The result of checking a theme before it is used. */
export interface ThemeReport {
  readonly id: string;
  /** Falls back to the id if the theme's name cannot be read. */
  readonly name: string;
  /** The theme that it extends; undefined for the default theme, or if it cannot be read. */
  readonly parent: string | undefined;
  /** Why it cannot be used: one sentence each, with file and line. */
  readonly problems: readonly string[];
  /** What will not look as the author intended in a theme that can be used: one sentence each. */
  readonly warnings: readonly string[];
}

/** The toolkit of pages, for plugins that render parts of them or talk to browsers in other ways. */
export interface Web {
  /**
   * Renders a fragment of a page, such as the content of a slot or the `html` of a list, in the current theme and the
   * language of the current request. `inSiteLanguage`: use the site's language, for output that is stored and shown to
   * other people too.
   */
  fragment(
    viewer: Viewer,
    template: string,
    model: object,
    options?: { readonly inSiteLanguage?: boolean },
  ): Promise<SafeHtml>;
  /**
   * A text (`plugin:key`) in the site's own language, for output that is not a page, such as emails; `count` selects
   * the plural form. Pages get their texts from templates and phrases, in the reader's language.
   */
  text(key: string, values?: Readonly<Record<string, unknown>>): string;
  /**
   * Texts for members, by id, in the languages they chose and with times in their time zones, else the site's. For
   * messages to members that are written during another person's request or during none, such as mails. Runs at most
   * one statement.
   */
  textsFor(ids: readonly string[]): Promise<(id: string) => Texts>;
  /** Id of the language of the current request; the site's own outside of requests. */
  readonly language: string;
  /** Name of the time zone in which times are shown; follows the same rules as `language`. */
  readonly zone: string;
  /** Translates into `language`, for texts that neither a template nor a phrase can express. */
  say(wording: Wording): string;
  /**
   * Translates the message of a failure or of one field's problem into `language`, for pages that show it themselves.
   * Error pages and refused forms already contain translated messages.
   */
  failure(message: string): string;
  /**
   * Translates into `language` a text that a plugin declares in code: its name and description, the title of a setting.
   * With the plugin's id its own translation is used, as plugins may mean different things by the same word.
   */
  declared(text: string, plugin?: string): string;
  /**
   * Sends the error page, for surfaces that have no pages. Returns false without sending a response unless the request
   * is a browser opening a page.
   */
  sendErrorPage(req: Request, res: Response, failure: HttpError): Promise<boolean>;
  /**
   * Sets a flash notice, a sentence that is shown on the next page that this browser opens, as `redirect` does. For
   * surfaces without pages.
   */
  setNotice(req: Request, res: Response, text: Wording): void;
  /** Why pages use a theme other than the chosen one, or an older version of it; undefined if there is no problem. */
  readonly themeProblem: string | undefined;
  /**
   * A sentence that lists colours of the current theme with less contrast than WCAG 2.2 AA requires; undefined if none.
   */
  readonly themeWarning: string | undefined;
  /** Changes with the current theme, the running plugins and their files: pages with another version are outdated. */
  readonly version: string;
  /** The background of the current theme in both colour schemes (`#rrggbb`), for documents without its styles. */
  readonly colours: { readonly light: string; readonly dark: string };
  /** Ids of the installed themes. */
  readonly themes: readonly string[];
  /** Reads a theme completely, with the themes it extends, and reports its problems without putting it to use. */
  inspectTheme(id: string): ThemeReport;
  /** Makes this the site's theme. `by`: an account’s id or `commandLine`. Throws 400 if the theme cannot be used. */
  useTheme(id: string, by: string): Promise<void>;
  /** Ids of the installed languages. */
  readonly languages: readonly string[];
  /** The URL of a plugin's public or client file, with the hash of its tree. */
  asset(plugin: string, path: string): string;
  /**
   * The view model of a form for a JSON Schema, with values and problems, for the `form/schema` partial. Titles and
   * descriptions are translated as by `declared`; those of a field with `x-plugin` with that plugin's translations.
   */
  form(schema: object, values: Readonly<Record<string, unknown>>, problems?: readonly FieldProblem[]): object;
}
export const Web = defineToken<Web>('Web');

/**
 * Cache tag of everything rendered. Purged when something that every page shows changes, such as the site's name, the
 * navigation or the theme.
 */
export const renderedTag = 'web.rendered';
/** Milliseconds that rendered HTML may be cached; short because it contains relative times. */
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
 * The model of `partials/pager`: the first, last and current page and its neighbours. `href` returns a page's URL, or
 * is that of the first page if the others are `?page=2` and so on; pages count from 1.
 */
export function pagerOf(page: number, pages: number, href: string | ((page: number) => string)): Pager {
  const hrefOf = typeof href === 'string' ? (number: number) => (number > 1 ? `${href}?page=${number}` : href) : href;
  const shown = [...new Set([1, page - 1, page, page + 1, pages])]
    .filter((number) => number >= 1 && number <= pages)
    .sort((a, b) => a - b);
  const links = shown.flatMap((number, index): PagerLink[] => {
    const own = { number, href: hrefOf(number), current: number === page, gap: false };
    const skipped = index > 0 && number - (shown[index - 1] ?? number) > 1;
    return skipped ? [{ number: 0, href: '', current: false, gap: true }, own] : [own];
  });
  return {
    page,
    pages,
    previous: page > 1 ? hrefOf(page - 1) : undefined,
    next: page < pages ? hrefOf(page + 1) : undefined,
    links,
  };
}
