/** Shared by elements and plugins' modules: imported as `@forum/client`. */

interface Page {
  /** URLs of the modules that define custom elements, by tag. */
  readonly elements: ReadonlyMap<string, string>;
  readonly texts: Readonly<Record<string, string>>;
  readonly member: boolean;
  /** Whether single-key shortcuts are enabled: visitors may switch them off. */
  readonly keys: boolean;
}

/** The page data as the server sends it: tags by the folder of their modules. */
type SentPage = Omit<Page, 'elements'> & { readonly elements: Readonly<Record<string, readonly string[]>> };
/**
 * A theme's template could write such a data block ahead of the server's. Since scripts that may run can load any other
 * script, only modules of plugins are accepted.
 */
const PLUGIN_MODULES = `${location.origin}/assets/p/`;
function readPage(): Page {
  const text = document.getElementById('forum')?.textContent;
  // Without data nobody is a member, and no keys are enabled.
  const { elements, ...rest } = JSON.parse(text ?? '{"elements":{},"texts":{}}') as SentPage;
  const modules = Object.entries(elements).flatMap(([folder, tags]) =>
    tags.map((tag): [string, string] => [tag, new URL(`${folder}${tag}.js`, location.origin).href]),
  );
  return { ...rest, elements: new Map(modules.filter(([, module]) => module.startsWith(PLUGIN_MODULES))) };
}

/** The data that the server sent to this page's scripts. */
export const page: Page = readPage();

/**
 * A text for the page's own scripts, in the page's language. Elements of plugins get theirs from their HTML, such as
 * `data-` attributes.
 */
export const t = (key: string, values: Readonly<Record<string, string | number>> = {}): string =>
  (page.texts[key] ?? key).replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));

/** Whether the reader prefers numbered pages to lists that load more by themselves. */
export const inPages = (): boolean => document.documentElement.dataset['paging'] === 'pages';

interface Policy {
  createHTML(text: string): string;
  createScriptURL(url: string): string;
}
declare const trustedTypes: { createPolicy(name: string, rules: Policy): Policy } | undefined;
const asIs: Policy = {
  createHTML: (text) => text,
  // Throws for any other address.
  createScriptURL: (url) => /^\/[\w-]+\.js$/.exec(url)![0],
};
// The only policy that the page's headers allow. It is used only by `toFragment` and `toDocument` below, which turn its
// HTML into nodes of a document in which no scripts run, and by `workerUrl`, whose scripts are at the root of the
// site, where no member can put a file.
const policy = typeof trustedTypes === 'undefined' ? asIs : trustedTypes.createPolicy('forum-html', asIs);

/**
 * Elements that run scripts, embed a page, or change where the page's relative URLs lead. The server sends none of them
 * in HTML that is inserted into a page.
 */
const ACTIVE = 'script, iframe, frame, object, embed, base, link, style, template, animate, set, meta[http-equiv]';
const ADDRESS = /^(?:(?:xlink:)?href|src|action|formaction|data)$/i;
const SCRIPT = /^(?:javascript|vbscript):/i;
/** Browsers ignore these characters in a URL. */
// eslint-disable-next-line no-control-regex
const OVERLOOKED = /[\0- ]/g;

/** Removes anything that could run, in case it got into the server's HTML. */
function inert<T extends ParentNode>(root: T): T {
  for (const active of root.querySelectorAll(ACTIVE)) active.remove();
  for (const element of root.querySelectorAll('*')) {
    for (const name of element.getAttributeNames()) {
      const value = element.getAttribute(name) ?? '';
      if (/^on|^srcdoc$/i.test(name) || (ADDRESS.test(name) && SCRIPT.test(value.replace(OVERLOOKED, ''))))
        element.removeAttribute(name);
    }
  }
  return root;
}

/** Parses HTML from this server; nothing in it runs, now or later. Its forms get this page's CSRF token. */
export function toFragment(html: string): DocumentFragment {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  for (const field of template.content.querySelectorAll<HTMLInputElement>('input[name="_csrf"]')) field.value = csrf();
  return inert(template.content);
}

/** Parses a whole page of this server, to take parts from; nothing in it runs, now or later. */
export const toDocument = (html: string): Document =>
  inert(new DOMParser().parseFromString(policy.createHTML(html), 'text/html'));

const meta = (): HTMLMetaElement | null => document.querySelector('meta[name="csrf-token"]');
/** The CSRF token of this page. */
export const csrf = (): string => meta()?.content ?? '';

/** Copies the CSRF token of another page into this one and all its forms. Returns whether it changed. */
export function refreshCsrf(other: Document): boolean {
  const token = other.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const own = meta();
  if (!token || !own || token === own.content) return false;
  own.content = token;
  for (const field of document.querySelectorAll<HTMLInputElement>('input[name="_csrf"]')) field.value = token;
  return true;
}

/** Fetches from this server with the CSRF token and returns the raw response. */
export function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (init.method && init.method !== 'GET') headers.set('X-CSRF-Token', csrf());
  return fetch(url, { ...init, headers });
}

/**
 * Fetches a page of this server without its frame, to take parts from; this does not count as a visit. Rejects if
 * the request fails.
 */
export async function fragment(url: string): Promise<DocumentFragment> {
  const response = await request(url, { headers: { 'X-Fragment': '1' }, cache: 'no-store' });
  if (!response.ok) throw new Error(t('failed'));
  return toFragment(await response.text());
}

/** Sends JSON. */
export const send = (path: string, body: unknown, method = 'POST', options: RequestInit = {}): Promise<Response> =>
  request(path, {
    method,
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
    ...options,
  });

/**
 * Calls the API with JSON. Rejects with the error message of the response. If the member's session has ended, a change
 * is sent again once they have logged in, by a dialog; for changes that nobody is waiting for there is `send`.
 */
export async function api<T>(
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
  options: Pick<RequestInit, 'signal' | 'keepalive'> = {},
): Promise<T> {
  const call = (): Promise<Response> =>
    body === undefined ? request(path, { method, ...options }) : send(path, body, method, options);
  let response = await call();
  if (response.status === 401 && method !== 'GET' && page.member && (await logIn())) response = await call();
  const answer = (await response.json()) as { error?: string };
  if (!response.ok) throw new Error(answer.error ?? t('failed'));
  return answer as T;
}

/**
 * Asks a member whose session has ended to log in, by a dialog over the page. Resolves to whether they did; false if
 * there is no such dialog.
 */
export const logIn = (): Promise<boolean> =>
  loadElement('x-login')
    .then(() => (document.createElement('x-login') as LoginDialog).ask())
    .catch(() => false);

/** The URL of a plugin's service worker, to register it. Its path is directly under the root: `/push-worker.js`. */
export const workerUrl = (path: string): string => policy.createScriptURL(path);

/** Announces a text to screen readers. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (region) region.textContent = text;
}

/** Shows a temporary note at the bottom of the page and announces it. */
export function toast(text: string): void {
  announce(text);
  document.querySelector('.toast')?.remove();
  const note = document.createElement('div');
  note.className = 'toast';
  note.textContent = text;
  document.body.append(note);
  setTimeout(() => note.remove(), 6_000);
}

let dismissed: { readonly opener: HTMLElement; readonly at: number } | undefined;
/** Maximum milliseconds between the press that closes a popover and the click that this press becomes. */
const CLICK = 400;

/**
 * Shows a popover beside its opener, where the class `menu` places it, or hides it if it is already shown there. When
 * opened by keyboard (a click without a pointer), it receives the focus.
 */
export function togglePopover(popover: HTMLElement, opener: HTMLElement, { detail, timeStamp }: UIEvent): void {
  const byKeyboard = detail === 0;
  // Pressing beside an open popover closes it before the click event is dispatched; showing it may take long after
  // that.
  if (!byKeyboard && dismissed?.opener === opener && timeStamp - dismissed.at < CLICK) return;
  if (popover.matches(':popover-open')) popover.hidePopover();
  popover.showPopover({ source: opener });
  if (byKeyboard) popover.querySelector<HTMLElement>('a, button')?.focus();
  popover.addEventListener('beforetoggle', () => (dismissed = { opener, at: performance.now() }), { once: true });
}

/** Defines a custom element unless it is already defined: a module may be loaded twice. */
export function define(tag: string, element: CustomElementConstructor): void {
  if (!customElements.get(tag)) customElements.define(tag, element);
}

/** Loads an element's module once; does nothing if no plugin provides it. */
export async function loadElement(tag: string): Promise<void> {
  const module = page.elements.get(tag);
  if (module !== undefined) await import(module);
}

/** Replaces text of a field and keeps its native undo history. Afterwards the caret is behind the text. */
export function insertText(area: HTMLTextAreaElement, text: string, start: number, end: number): void {
  area.focus();
  area.setSelectionRange(start, end);
  // Deprecated, but still the only way to preserve the undo history.
  const focused = document.activeElement === area;
  if (focused && document.execCommand(text === '' ? 'delete' : 'insertText', false, text)) return;
  area.setRangeText(text, start, end, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Escapes text so that Markdown shows it literally. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_[\]<>~|&]/g, '\\$&');

/** Values to fill into a form, by field: texts, and for check boxes whether they are ticked (`name=value`). */
export type FormValues = Readonly<Record<string, string | boolean>>;
/**
 * `detail` of `forum:draft-found`: what a member wrote in the same form elsewhere. The form that takes it over cancels
 * the event.
 */
export interface FoundDraft {
  readonly values: FormValues;
  /** Epoch milliseconds. */
  readonly time: number;
  /**
   * The time until which the draft includes, or its writer had seen, what was written here: replacing text up to then
   * loses nothing.
   */
  readonly known: number;
}

/** A suggestion to complete what follows a trigger such as `@`. */
export interface Completion {
  /** Replaces the trigger and the letters after it; followed by a space. */
  readonly text: string;
  readonly label: string;
  /** Shown in small print beside the label. */
  readonly hint?: string;
  /** One or two characters shown before the label. */
  readonly sign?: string;
}
/**
 * An element in the slot `composer.completion` that suggests completions after its trigger, `data-trigger`. Its module
 * is loaded when the trigger is typed for the first time. With `data-words`, the query may contain spaces.
 */
export interface CompletionSource extends HTMLElement {
  /** The best suggestion first; empty while too little is typed. Aborted when the text changes. */
  complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]>;
}

/**
 * An element in the slot `composer.tools` that wraps one button of the toolbar of a writing field. Its module is loaded
 * when the button is first pressed, or earlier if its `data-when` says so.
 */
export interface ComposerTool extends HTMLElement {
  /** Called when its button was pressed, with the event. */
  use(area: HTMLTextAreaElement, event: UIEvent): void | Promise<void>;
}

/**
 * The element `x-login` of the plugin that logs people in; its module is loaded when a session turns out to have
 * expired.
 */
export interface LoginDialog extends HTMLElement {
  /**
   * Adds itself to the page and asks for a login, unless another dialog already does. Resolves to whether the same
   * member is logged in again.
   */
  ask(note?: string): Promise<boolean>;
}

/** The element `x-bar`, created once its module is loaded: an unobtrusive line at the bottom of the window. */
export interface Bar extends HTMLElement {
  /** Adds itself to the page, with an action button and one that dismisses it. */
  show(text: string, label: string, run: () => void): void;
}

/** The element `x-form`, created once its module is loaded: the form of another page, with unique ids. */
export interface PageForm extends HTMLElement {
  /**
   * Loads the form by the path that it is submitted to; resolves to the title of its page. Rejects if it cannot be
   * loaded.
   */
  bring(path: string): Promise<string>;
  /** Whether its values differ from those that the server sent. */
  readonly isChanged: boolean;
}

/** Creates a button without an icon, since icons are drawn by the server. */
export function button(label: string, run: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = label;
  made.addEventListener('click', run);
  return made;
}

/** Local storage of this device; full or blocked storage counts as empty. */
export const store = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string | undefined): void {
    try {
      if (value === undefined) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // Then nothing is stored on this device; the page works without it.
    }
  },
};
