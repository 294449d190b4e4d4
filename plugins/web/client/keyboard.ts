import { button, loadElement, request } from '@forum/client';

/** Keyboard shortcuts; loaded when the first key is pressed. */

interface Shortcut {
  readonly id: string;
  readonly keys: string;
  readonly label: string;
  readonly area: string;
  readonly href?: string;
  readonly press?: string;
  readonly inMenu?: boolean;
  readonly post?: 'first' | 'last';
}
interface Keyboard {
  readonly title: string;
  readonly close: string;
  readonly change: { readonly label: string; readonly href: string };
  readonly areas: readonly { readonly label: string; readonly shortcuts: readonly Shortcut[] }[];
}
/** Milliseconds within which the second of two keys must follow. */
const PAUSE = 1_500;
/** Milliseconds to wait for a menu, or for the module of the element to click. */
const TIMEOUT = 5_000;
/** Pixels of the bar that covers the top of the page. */
const BAR = 72;
const POST = '.post:not(.along)';
/** Rows of other lists than discussions; categories above a list of discussions are not among them. */
const ENTRY = ':is(.member-list > li, .tag-index > li, .visitor-list > li, .categories:not(:has(~ .feed)) > .category)';
const ITEM = `main :is(.card, ${POST}, .queue > *, ${ENTRY})`;
const MENU = 'a[data-menu]';
const OPEN = '.menu:popover-open';

/** Returns a key handler, which returns false for keys that are not shortcuts of this page. */
export async function loadKeyboard(): Promise<(key: string) => boolean> {
  const answer = await request('/keyboard', { headers: { Accept: 'application/json' } });
  if (!answer.ok) throw new Error(String(answer.status));
  const keyboard = (await answer.json()) as Keyboard;
  // Shortcuts for queues take precedence.
  const all = keyboard.areas
    .flatMap((area) => area.shortcuts)
    .toSorted((a, b) => Number(b.area === 'queues') - Number(a.area === 'queues'));
  const byKeys = Map.groupBy(all, ({ keys }) => keys);
  const shortcutOf = (keys: string): Shortcut | undefined => byKeys.get(keys)?.find(isHere) ?? byKeys.get(keys)?.at(-1);
  const first = new Set([...byKeys.keys()].filter((keys) => keys.includes(' ')).map((keys) => keys.split(' ')[0]!));
  let before: { readonly key: string; readonly at: number } | undefined;
  return (key) => {
    const second = before && performance.now() - before.at < PAUSE ? shortcutOf(`${before.key} ${key}`) : undefined;
    const shortcut = second ?? shortcutOf(key);
    before = !second && first.has(key) ? { key, at: performance.now() } : undefined;
    if (shortcut) void run(shortcut, keyboard);
    return shortcut !== undefined || before !== undefined;
  };
}

async function run(shortcut: Shortcut, keyboard: Keyboard): Promise<void> {
  if (shortcut.id === 'web.next') step(1);
  else if (shortcut.id === 'web.previous') step(-1);
  else if (shortcut.id === 'web.keys') show(keyboard);
  else if (shortcut.href !== undefined) location.assign(shortcut.href);
  else {
    const element = find(shortcut.press!);
    if (!element && shortcut.inMenu) await pressInMenu(shortcut.press!);
    else if (hasPost(shortcut)) moveTo(shown(POST).at(shortcut.post === 'first' ? 0 : -1)!);
    else await press(element);
  }
}

const shown = (selector: string, root: ParentNode = document): HTMLElement[] =>
  [...root.querySelectorAll<HTMLElement>(selector)].filter((element) => element.checkVisibility());

/** Pixels of the item that are in view. */
function inView(item: Element): number {
  const { top, bottom } = item.getBoundingClientRect();
  return Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, BAR));
}
const beginsInView = (item: Element): boolean => inView(item) > 0 && item.getBoundingClientRect().top >= BAR;

/**
 * Searched first in the focused row or post, then outside of all rows and posts, then in the one that is most in view.
 */
function find(selector: string): HTMLElement | undefined {
  const all = shown(selector);
  const focused = document.activeElement?.closest(ITEM);
  return (
    all.find((element) => focused?.contains(element)) ??
    all.find((element) => !element.closest(ITEM)) ??
    all
      .map((element) => ({ element, pixels: inView(element.closest(ITEM)!) }))
      .filter(({ pixels }) => pixels > 0)
      .toSorted((a, b) => b.pixels - a.pixels)[0]?.element
  );
}

async function press(element: HTMLElement | undefined): Promise<void> {
  if (!element) return;
  if (element.matches('input, textarea, select')) return element.focus();
  // If a custom element replaces the browser's default action, its module must be loaded first.
  const around = element.closest(':not(:defined)');
  if (around) {
    const loaded = loadElement(around.localName).catch(() => undefined);
    await Promise.race([loaded, new Promise((late) => setTimeout(late, TIMEOUT))]);
  }
  // Elements outside of rows and posts act on what is in view, so the page must not scroll to them.
  element.focus({ preventScroll: !element.closest(ITEM) });
  element.click();
}

async function pressInMenu(selector: string): Promise<void> {
  const opened = new Promise<boolean>((resolve) => {
    const signal = AbortSignal.timeout(TIMEOUT);
    // Ignores the toggle event of another menu that has just closed.
    const toggled = ({ target }: Event): void => void ((target as Element).matches(OPEN) && resolve(true));
    document.addEventListener('toggle', toggled, { capture: true, signal });
    signal.addEventListener('abort', () => resolve(false));
  });
  await press(find(MENU));
  const menu = (await opened) ? document.querySelector(OPEN) : null;
  if (menu) await press(shown(selector, menu)[0]);
}

/** Moves to the next or previous row or post, or to the control that loads more of them. */
function step(by: 1 | -1): void {
  const items = shown(`${ITEM}, main :is(.feed-more button, a[rel="next"])`);
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const visible = Math.max(items.findIndex(beginsInView), 0);
  const next = items[at >= 0 ? at + by : by > 0 ? visible : visible - 1];
  if (!next) return;
  moveTo(next);
}

/** Focuses a post, the link of a row, or a control below them. */
function moveTo(item: HTMLElement): void {
  const link =
    item.querySelector<HTMLElement>('.card-title a') ??
    (item.matches(ENTRY) ? (item.querySelector<HTMLElement>('h2 a') ?? item.querySelector<HTMLElement>('a')) : null);
  if (item.matches(ITEM) && !link) item.tabIndex = -1;
  (link ?? item).focus({ preventScroll: true });
  item.scrollIntoView({ block: item.matches(POST) ? 'start' : 'nearest' });
}

/** Whether a shortcut moves to a post of this page, which has nothing to press for it. */
const hasPost = ({ press: selector = '', post }: Shortcut): boolean =>
  post !== undefined && !document.querySelector(selector) && shown(POST).length > 0;

/** Lists the shortcuts that work on this page. */
function show({ title, close, change, areas }: Keyboard): void {
  const dialog = document.createElement('dialog');
  dialog.className = 'keys';
  dialog.setAttribute('aria-labelledby', 'keys-title');
  const heading = Object.assign(document.createElement('h2'), {
    id: 'keys-title',
    textContent: title,
    tabIndex: -1,
    autofocus: true,
  });
  const inQueue = areas.flatMap(({ shortcuts }) => shortcuts.filter((one) => one.area === 'queues' && isHere(one)));
  const lists = areas.flatMap(({ label, shortcuts }) => {
    const here = shortcuts.filter(
      (one) => isHere(one) && (inQueue.includes(one) || !inQueue.some(({ keys }) => keys === one.keys)),
    );
    return here.length === 0 ? [] : [Object.assign(document.createElement('h3'), { textContent: label }), list(here)];
  });
  const link = Object.assign(document.createElement('a'), { href: change.href, textContent: change.label });
  const foot = Object.assign(document.createElement('p'), { className: 'row end' });
  const closing = button(close, () => dialog.close());
  closing.className = 'button';
  foot.append(link, closing);
  dialog.append(heading, ...lists, foot);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function isHere(shortcut: Shortcut): boolean {
  const { id, press: selector, inMenu } = shortcut;
  if (id === 'web.next' || id === 'web.previous') return shown(ITEM).length > 0;
  return selector === undefined || hasPost(shortcut) || shown(inMenu ? `${selector}, ${MENU}` : selector).length > 0;
}

function list(shortcuts: readonly Shortcut[]): HTMLElement {
  const made = Object.assign(document.createElement('dl'), { className: 'definition' });
  for (const { keys, label } of shortcuts) {
    const [name, term] = [document.createElement('dd'), document.createElement('dt')];
    name.textContent = label;
    for (const key of keys.split(' '))
      term.append(Object.assign(document.createElement('kbd'), { textContent: key }), ' ');
    made.append(term, name);
  }
  return made;
}
