import { loadElement, page, t, toast } from '@forum/client';
import { enhanceForms } from './parts/forms.ts';
import { listenForKeys } from './parts/keys.ts';
import { holdPresses } from './parts/presses.ts';
import { keepTimes } from './parts/times.ts';

/** Until its module is there, and if it never comes, the server's HTML inside an element does the work. */
const load = (tag: string): void => void loadElement(tag).catch(() => undefined);

// Well before they come into view, so that they are ready when they do.
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

/** By tag, what has to be pointed at or to have the focus before the element is of any use. */
const later = new Map<string, string>();
function wake(target: EventTarget | null): void {
  for (const [tag, selector] of later) {
    if (!(target instanceof Element && target.closest(selector))) continue;
    later.delete(tag);
    load(tag);
  }
}
for (const type of ['pointerover', 'focusin']) document.addEventListener(type, ({ target }) => wake(target));

/** By tag, what is pressed for what the element does: a press waits for the element's module. */
const presses = new Map<string, string>();
function scan(root: ParentNode): void {
  if (page.elements.size === 0) return;
  for (const element of root.querySelectorAll([...page.elements.keys()].join())) {
    const press = element.getAttribute('data-press');
    if (press !== null) presses.set(element.localName, press);
    // About the page as a whole, wherever it stands.
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
