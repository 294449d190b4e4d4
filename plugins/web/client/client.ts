/** What elements and plugins' modules share: imported as `@forum/client`. */

interface Page {
  /** URLs of the modules that define elements, by tag. */
  readonly elements: ReadonlyMap<string, string>;
  readonly texts: Readonly<Record<string, string>>;
  readonly member: boolean;
  /** Whether single keys do something: visitors may switch them off. */
  readonly keys: boolean;
}

/** As the server writes it: tags by the folder of their modules. */
type SentPage = Omit<Page, 'elements'> & { readonly elements: Readonly<Record<string, readonly string[]>> };
/**
 * A template of a theme can write such data before the server does. What may run it, whatever is loaded by a script that
 * may run, so it is plugins' modules alone.
 */
const PLUGIN_MODULES = new URL('/assets/p/', location.origin).href;
function readPage(): Page {
  const text = document.getElementById('forum')?.textContent;
  const { elements, ...rest } = JSON.parse(
    text ?? '{"elements":{},"texts":{},"member":false,"keys":false}',
  ) as SentPage;
  const modules = Object.entries(elements).flatMap(([folder, tags]) =>
    tags.map((tag): [string, string] => [tag, new URL(`${folder}${tag}.js`, location.origin).href]),
  );
  return { ...rest, elements: new Map(modules.filter(([, module]) => module.startsWith(PLUGIN_MODULES))) };
}

/** The data the server sent to this page's scripts. */
export const page: Page = readPage();

/** A text of the page's own scripts, in the page's language. Elements of plugins take theirs from their HTML, such as `data-` attributes. */
export const t = (key: string, values: Readonly<Record<string, string | number>> = {}): string =>
  (page.texts[key] ?? key).replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));

/** Whether the reader wants long lists in pages, rather than that they go on by themselves. */
export const inPages = (): boolean => document.documentElement.dataset['paging'] === 'pages';

interface Policy {
  createHTML(text: string): string;
}
declare const trustedTypes: { createPolicy(name: string, rules: Policy): Policy } | undefined;
const asIs: Policy = { createHTML: (text) => text };
// The only policy that the page's headers allow. It is used in the two lines below alone, where its HTML becomes nodes
// of a document that runs nothing.
const policy = typeof trustedTypes === 'undefined' ? asIs : trustedTypes.createPolicy('forum-html', asIs);

/**
 * What runs, loads a page into this one, or changes where the page's own addresses lead. The server sends none of it to
 * be put into a page.
 */
const ACTIVE = 'script, iframe, frame, object, embed, base, link, style, template, animate, set, meta[http-equiv]';
const ADDRESS = /^(?:(?:xlink:)?href|src|action|formaction|data)$/i;
const SCRIPT = /^(?:javascript|vbscript):/i;
/** Browsers ignore these in a URL. */
// eslint-disable-next-line no-control-regex
const OVERLOOKED = /[\0- ]/g;

/** Takes out whatever could run, should any have got into the server's HTML. */
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

/** HTML of this server as nodes; nothing in it runs, now or later. Its forms get this page's forgery token. */
export function toFragment(html: string): DocumentFragment {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  for (const field of template.content.querySelectorAll<HTMLInputElement>('input[name="_csrf"]')) field.value = csrf();
  return inert(template.content);
}

/** A whole page of this server, to take pieces from; nothing in it runs, now or later. */
export const toDocument = (html: string): Document =>
  inert(new DOMParser().parseFromString(policy.createHTML(html), 'text/html'));

const meta = (): HTMLMetaElement | null => document.querySelector('meta[name="csrf-token"]');
/** The forgery token of this page. */
export const csrf = (): string => meta()?.content ?? '';

/** Takes over the forgery token of another page, into every form of this one. */
export function refreshCsrf(other: Document): boolean {
  const token = other.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const own = meta();
  if (!token || !own || token === own.content) return false;
  own.content = token;
  for (const field of document.querySelectorAll<HTMLInputElement>('input[name="_csrf"]')) field.value = token;
  return true;
}

/** Fetches from this server with the CSRF token; returns the response as it is. */
export function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (init.method && init.method !== 'GET') headers.set('X-CSRF-Token', csrf());
  return fetch(url, { ...init, headers, credentials: 'same-origin' });
}

/** A page of this server without its frame, to take pieces from; it does not count as a visit. Rejects where it fails. */
export async function fragment(url: string): Promise<DocumentFragment> {
  const response = await request(url, { headers: { 'X-Fragment': '1' }, cache: 'no-store' });
  if (!response.ok) throw new Error(t('failed'));
  return toFragment(await response.text());
}

/** JSON to and from the API. Rejects with the envelope's own sentence. */
export async function api<T>(
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
  options: Pick<RequestInit, 'signal' | 'keepalive'> = {},
): Promise<T> {
  const init =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const response = await request(path, { method, ...init, ...options });
  const answer = (await response.json()) as { error?: string };
  if (!response.ok) throw new Error(answer.error ?? t('failed'));
  return answer as T;
}

/** Says something to those who listen to the page instead of looking at it. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (region) region.textContent = text;
}

/** A passing note at the foot of the page; also announced. */
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
/** Milliseconds from a press that closes a popover to the click that it is the beginning of. */
const CLICK = 400;

/**
 * Shows a popover beside what opens it, where its class `menu` puts it, and goes into it where that was by keyboard (a
 * click without a pointer); hides it where it was shown there already.
 */
export function togglePopover(popover: HTMLElement, opener: HTMLElement, { detail, timeStamp }: UIEvent): void {
  const byKeyboard = detail === 0;
  // A press beside an open popover has closed it before the click is heard of; what is shown may come long after that.
  if (!byKeyboard && dismissed?.opener === opener && timeStamp - dismissed.at < CLICK) return;
  if (popover.matches(':popover-open')) popover.hidePopover();
  popover.showPopover({ source: opener });
  if (byKeyboard) popover.querySelector<HTMLElement>('a, button')?.focus();
  popover.addEventListener('beforetoggle', () => (dismissed = { opener, at: performance.now() }), { once: true });
}

/** Defines a custom element once: a module may be loaded twice. */
export function define(tag: string, element: CustomElementConstructor): void {
  if (!customElements.get(tag)) customElements.define(tag, element);
}

/** Loads an element's module, once; does nothing where no plugin has it. */
export async function loadElement(tag: string): Promise<void> {
  const module = page.elements.get(tag);
  if (module !== undefined) await import(module);
}

/** Replaces text of a field so that its own undo knows of it. The caret is behind it then. */
export function insertText(area: HTMLTextAreaElement, text: string, start: number, end: number): void {
  area.focus();
  area.setSelectionRange(start, end);
  // Obsolete by the letter, and still the only way that keeps the undo stack.
  const focused = document.activeElement === area;
  if (focused && document.execCommand(text === '' ? 'delete' : 'insertText', false, text)) return;
  area.setRangeText(text, start, end, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Text as Markdown that shows these signs and no others. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_[\]<>~|&]/g, '\\$&');

/** What is filled into a form, by field: texts, and whether a box is ticked (`name=value`). */
export type FormValues = Readonly<Record<string, string | boolean>>;
/** `detail` of `forum:draft-found`: what a member wrote in the same form somewhere else. The form that takes it over cancels the event. */
export interface FoundDraft {
  readonly values: FormValues;
  /** Epoch milliseconds. */
  readonly time: number;
  /** Until when what was written here was part of it, or seen there: nothing of that is lost with it. */
  readonly known: number;
}

/** One way to go on after a sign such as `@`. */
export interface Completion {
  /** What is put in place of the sign and the letters behind it; a space follows. */
  readonly text: string;
  readonly label: string;
  /** In small print beside the label. */
  readonly hint?: string;
  /** A sign or two before the label. */
  readonly sign?: string;
}
/**
 * An element in the slot `composer.completion` that knows how to go on after its sign, `data-trigger`. Its module is
 * loaded when the sign is typed for the first time. With `data-words`, spaces belong to what is looked for.
 */
export interface CompletionSource extends HTMLElement {
  /** The best first; none where too little is typed yet. Aborted when something else is typed. */
  complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]>;
}

/**
 * An element in the slot `composer.tools`, around a button of the bar of a writing field. Its module is loaded when that
 * is pressed for the first time, or before, where its `data-when` says so.
 */
export interface ComposerTool extends HTMLElement {
  /** Its button was pressed, by this event. */
  use(area: HTMLTextAreaElement, event: UIEvent): void | Promise<void>;
}

/** The element `x-login` of whichever plugin logs people in: its module is loaded when a session turns out to have ended. */
export interface LoginDialog extends HTMLElement {
  /** Puts itself onto the page and asks, unless another one does; whether the same member is logged in again. */
  ask(note?: string): Promise<boolean>;
}

/** The element `x-bar`, made once it is loaded: a line at the foot of the window that is in nobody’s way. */
export interface Bar extends HTMLElement {
  /** Puts itself onto the page, with a button and one that puts it away. */
  show(text: string, label: string, run: () => void): void;
}

/** The element `x-form`, made once it is loaded: the form of another page, with ids of its own. */
export interface PageForm extends HTMLElement {
  /** By the address that the form is sent to; resolves to the title of that page. Rejects where it cannot be had. */
  bring(path: string): Promise<string>;
  /** Whether something else is written in it than the server sent. */
  readonly isChanged: boolean;
}

/** A button that runs something, without an icon: those are drawn by the server. */
export function button(label: string, run: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = label;
  made.addEventListener('click', run);
  return made;
}

/** Storage of this device; full or forbidden storage counts as empty. */
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
      // Nothing is stored on this device then; the page works without.
    }
  },
};
