import { page } from '@forum/client';
import { enhanceForms } from './parts/forms.ts';
import { keepTimes } from './parts/times.ts';

const wanted = new Set<string>();

/** Loads an element's module; until then, and if it never comes, the server's HTML inside it does the work. */
function load(tag: string): void {
  const module = page.elements[tag];
  if (!module || wanted.has(tag)) return;
  wanted.add(tag);
  import(module).catch(() => wanted.delete(tag));
}

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

function scan(root: ParentNode): void {
  const tags = Object.keys(page.elements);
  if (tags.length === 0) return;
  for (const element of root.querySelectorAll(tags.join())) near.observe(element);
}

scan(document);
new MutationObserver((changes) => {
  for (const { addedNodes } of changes)
    for (const node of addedNodes) if (node instanceof Element) scan(node.parentElement ?? node);
}).observe(document.body, { childList: true, subtree: true });
enhanceForms();
keepTimes();
