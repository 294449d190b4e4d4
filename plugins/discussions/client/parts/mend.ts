/** Whether the user is interacting with a part of the page, which must not be replaced now. */
export type InUse = (part: Element) => boolean;

/** Whether both have the same content. Relative times are ignored, because this page keeps them current itself. */
export function sameAs(one: Element, other: Element): boolean {
  const [plain, then] = [one, other].map((element) => {
    const copy = element.cloneNode(true) as Element;
    copy.removeAttribute('open');
    for (const time of copy.querySelectorAll('time')) {
      time.replaceChildren();
      time.removeAttribute('title');
    }
    return copy;
  });
  return plain!.isEqualNode(then!);
}

/** Attributes that tell parts of one kind apart. */
const KEYS = ['class', 'value', 'href'];
const isLike = (one: Element, other: Element): boolean =>
  one.localName === other.localName && KEYS.every((key) => one.getAttribute(key) === other.getAttribute(key));

const ownText = (element: Element): string =>
  [...element.childNodes]
    .map((node) => (node.nodeType === Node.TEXT_NODE ? (node.nodeValue ?? '').trim() : ''))
    .join('');

/** Puts a part after another one, or at the beginning; `own` are the parts it may take the place of. */
function place(part: Element, whole: Element, last: Element | undefined, own: readonly Element[]): void {
  // A list that was open stays open.
  if (own.some((one) => one.className === part.className && one.matches('[open]'))) part.setAttribute('open', '');
  const next = last ? last.nextElementSibling : whole.firstElementChild;
  // In place of what it replaces, so that the spaces around it stay where they are.
  if (next && own.includes(next) && isLike(next, part)) next.replaceWith(part);
  else if (last) last.after(part);
  else whole.prepend(part);
}

/**
 * Replaces the parts that differ; returns true if one of them was in use and therefore kept. Parts that stay are not
 * moved in the DOM, because they would lose the focus.
 */
export function mend(whole: Element, now: Element, inUse: InUse): boolean {
  const kept = new Set<Element>();
  let [last, left]: [Element | undefined, boolean] = [undefined, false];
  const [parts, before] = [[...now.children], [...whole.children]];
  for (const part of parts) {
    const own = before.filter((one) => !kept.has(one) && one.parentElement === whole);
    const same = own.find((one) => sameAs(one, part));
    const used = same ? undefined : own.find((one) => isLike(one, part) && inUse(one));
    if (used) left = !mendUsed(used, part, inUse) || left;
    const shown: Element = same ?? used ?? part;
    if (shown === part)
      place(
        part,
        whole,
        last,
        own.filter((one) => !inUse(one)),
      );
    kept.add(shown);
    last = shown;
  }
  // The popover offered for a selection is removed along with it.
  for (const part of before) if (!kept.has(part) && !part.matches(':popover-open')) part.remove();
  return left;
}

/**
 * Brings a part in use up to date around what the user touches in it, such as the button that has the focus. Returns
 * false if it has to wait: text, because it may be selected, what scripts hold (`data-held`), and open menus.
 */
function mendUsed(used: Element, now: Element, inUse: InUse): boolean {
  const waits = used.childElementCount === 0 || ownText(used) !== ownText(now);
  if (waits || used.matches('.prose, [data-held]') || used.querySelector(':popover-open')) return false;
  for (const { name, value } of now.attributes) used.setAttribute(name, value);
  return !mend(used, now, inUse);
}
