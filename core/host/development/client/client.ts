// Runs in every page during plugin development. It creates elements one by one and styles them by script, so that it
// needs nothing from the page's security policy.

interface Problem {
  readonly what: string;
  readonly plugin?: string;
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly excerpt: readonly { readonly number: number; readonly text: string }[];
}

const STYLE = `
:host { all: initial; }
* { box-sizing: border-box; margin: 0; }
.problems {
  position: fixed; inset: 0; z-index: 2147483647; overflow: auto; padding: 4vmin; color-scheme: dark;
  background: rgb(12 12 16 / 92%); color: #f4f4f6; font: 15px/1.5 system-ui, sans-serif;
}
.problems section { max-width: 70rem; margin: 0 auto 1.5rem; padding: 1.25rem; background: #1d1d24; border-left: 4px solid #ff6b6b; }
h2 { font-size: 1rem; color: #ff9c9c; }
.message { margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 1.1rem; }
.place { color: #9cc8ff; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
pre { margin-top: .75rem; overflow: auto; font: 13px/1.6 ui-monospace, monospace; color: #c9c9d2; }
pre .fault { display: inline-block; min-width: 100%; background: #57262b; color: #fff; }
footer { max-width: 70rem; margin: 0 auto; color: #b8b8c4; }
button { float: right; padding: .25rem .75rem; font: inherit; color: inherit; background: #3a3a46; border: 1px solid #6a6a7a; }
.slot { position: absolute; z-index: 2147483646; pointer-events: none; outline: 2px dashed #d6336c; min-height: 2px; }
.slot span {
  position: absolute; left: 0; bottom: 100%; padding: 0 .35em; white-space: nowrap; font: 11px/1.5 ui-monospace, monospace;
  background: #d6336c; color: #fff;
}
.slot.empty { outline-style: dotted; outline-color: #6741d9; }
.slot.empty span { background: #6741d9; }
`;

const KEYS = 'Alt+S outlines the slots of the page with their names. Esc closes this.';

const host = document.createElement('development-tools');
const root = host.attachShadow({ mode: 'open' });
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);
root.adoptedStyleSheets = [sheet];
document.documentElement.append(host);

function element(tag: string, className: string, ...content: readonly (Node | string)[]): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

let overlay: HTMLElement | undefined;

function closeOverlay(): void {
  overlay?.remove();
  overlay = undefined;
}

function show(problems: readonly Problem[]): void {
  closeOverlay();
  if (problems.length === 0) return;
  const close = element('button', '', 'Close');
  close.addEventListener('click', closeOverlay);
  overlay = element('div', 'problems', ...problems.map(sectionOf), element('footer', '', close, KEYS));
  overlay.setAttribute('role', 'alert');
  root.append(overlay);
}

function sectionOf({ what, plugin, message, file, line, excerpt }: Problem): HTMLElement {
  const place = file === undefined ? [] : [element('p', 'place', line === undefined ? file : `${file}:${line}`)];
  const width = String(excerpt.at(-1)?.number ?? '').length;
  const lines = excerpt.map(({ number, text }) =>
    element('span', number === line ? 'fault' : '', `${String(number).padStart(width)}  ${text}\n`),
  );
  return element(
    'section',
    '',
    element('h2', '', plugin === undefined ? what : `${plugin}: ${what}`),
    element('p', 'message', message),
    ...place,
    ...(lines.length > 0 ? [element('pre', '', ...lines)] : []),
  );
}

/** The content between a slot's opening and closing comments. */
interface Slot {
  readonly name: string;
  readonly range: Range;
}

function slotsOf(page: Node): readonly Slot[] {
  const comments = document.createNodeIterator(page, NodeFilter.SHOW_COMMENT);
  const open: { readonly name: string; readonly node: Node }[] = [];
  const slots: Slot[] = [];
  for (let node = comments.nextNode(); node; node = comments.nextNode()) {
    const text = node.nodeValue ?? '';
    if (text.startsWith('slot ')) open.push({ name: text.slice('slot '.length), node });
    const begun = text === '/slot' ? open.pop() : undefined;
    if (!begun) continue;
    const range = document.createRange();
    range.setStartAfter(begun.node);
    range.setEndBefore(node);
    slots.push({ name: begun.name, range });
  }
  return slots;
}

let outlines: HTMLElement | undefined;

function outlineSlots(): void {
  if (outlines) {
    outlines.remove();
    outlines = undefined;
    return;
  }
  outlines = element('div', 'slots', ...slotsOf(document.body).map(outlineOf));
  root.append(outlines);
}

function outlineOf({ name, range }: Slot): HTMLElement {
  const { left, top, width, height } = boxOf(range);
  const box = element('div', width * height > 0 ? 'slot' : 'slot empty', element('span', '', name));
  box.style.left = `${left + scrollX}px`;
  box.style.top = `${top + scrollY}px`;
  box.style.width = `${width}px`;
  box.style.height = `${height}px`;
  return box;
}

/** An empty slot has no box of its own, so it is shown at the end of the element before it. */
function boxOf(range: Range): Pick<DOMRect, 'left' | 'top' | 'width' | 'height'> {
  const own = range.getBoundingClientRect();
  if (own.width * own.height > 0) return own;
  const before = range.startContainer.childNodes[range.startOffset - 1]?.previousSibling;
  const element = before instanceof Element ? before : range.startContainer;
  const { left, bottom, width } = (element instanceof Element ? element : document.body).getBoundingClientRect();
  return { left, top: bottom, width, height: 0 };
}

addEventListener('keydown', (event) => {
  if (event.altKey && event.code === 'KeyS') {
    event.preventDefault();
    outlineSlots();
  } else if (event.key === 'Escape') closeOverlay();
});

/** The query of the script's URL is the version of the files that the page was rendered from. */
const version = new URL(import.meta.url).search.slice(1);
const events = new EventSource('/_development/events');
const on = (name: string, run: (data: unknown) => void): void =>
  events.addEventListener(name, (event) => run(JSON.parse((event as MessageEvent<string>).data)));
on('problems', (problems) => show(problems as readonly Problem[]));
on('version', (current) => {
  if (current !== version) location.reload();
});
