import { loadElement, page, t, toast } from '@forum/client';
import { enhanceForms } from './parts/forms.ts';
import { listenForKeys } from './parts/keys.ts';
import { holdPresses } from './parts/presses.ts';
import { keepTimes } from './parts/times.ts';

/** Until the module is loaded, and if loading fails, the server-rendered HTML inside the element does the work. */
const load = (tag: string): void => void loadElement(tag).catch(() => undefined);

// Elements are loaded well before they scroll into view, so that they are ready by then.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      load(target.localName);
    }
  },
  { rootMargin: '400px' },
);

/** Selectors by tag: the element's module is not needed until a match is hovered or focused. */
const later = new Map<string, string>();
function wake(target: EventTarget | null): void {
  for (const [tag, selector] of later) {
    if (!(target instanceof Element && target.closest(selector))) continue;
    later.delete(tag);
    load(tag);
  }
}
for (const type of ['pointerover', 'focusin']) document.addEventListener(type, ({ target }) => wake(target));

/** Selectors by tag: a click on a match waits for the element's module. */
const presses = new Map<string, string>();
function scan(root: ParentNode): void {
  if (page.elements.size === 0) return;
  for (const element of root.querySelectorAll([...page.elements.keys()].join())) {
    const press = element.getAttribute('data-press');
    if (press !== null) presses.set(element.localName, press);
    // The element concerns the whole page, wherever it is placed.
    if (element.hasAttribute('data-eager')) load(element.localName);
    else if (element.hasAttribute('data-when')) later.set(element.localName, element.getAttribute('data-when')!);
    else near.observe(element);
  }
}

holdPresses(presses);
scan(document);
wake(document.activeElement);
new MutationObserver((changes) => {
  for (const { addedNodes } of changes)
    for (const node of addedNodes) if (node instanceof Element) scan(node.parentElement ?? node);
}).observe(document.body, { childList: true, subtree: true });
addEventListener('offline', () => toast(t('offline')));
enhanceForms();
keepTimes();
listenForKeys();
