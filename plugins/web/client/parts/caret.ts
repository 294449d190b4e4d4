/** Style properties that determine where the letters of a field are. */
const COPIED = [
  'direction',
  'unicode-bidi',
  'text-align',
  'font',
  'letter-spacing',
  'word-spacing',
  'line-height',
  'tab-size',
  'text-indent',
  'padding',
  'border-width',
  'border-style',
];
/** Pixels to keep free at the edges of the window, and between a line and the popover placed at it. */
const EDGE = 8;
const GAP = 4;

/** The position of a letter within a field. Text areas do not expose it, so it is measured in a copy of the field. */
export function letterBox(area: HTMLTextAreaElement, at: number): DOMRect {
  const style = getComputedStyle(area);
  const copy = document.createElement('div');
  for (const name of COPIED) copy.style.setProperty(name, style.getPropertyValue(name));
  Object.assign(copy.style, { position: 'fixed', top: '0', left: '0', visibility: 'hidden', boxSizing: 'border-box' });
  // A field with a scroll bar has less room for its lines.
  const width = area.clientWidth + Number.parseFloat(style.borderLeftWidth) + Number.parseFloat(style.borderRightWidth);
  Object.assign(copy.style, { width: `${width}px`, whiteSpace: 'pre-wrap', overflowWrap: 'break-word' });
  const letter = document.createElement('span');
  letter.textContent = area.value.slice(at, at + 1);
  copy.append(area.value.slice(0, at), letter, area.value.slice(at + 1, at + 200));
  document.body.append(copy);
  const { x, y, width: size, height } = letter.getBoundingClientRect();
  copy.remove();
  return new DOMRect(x, y, size, height);
}

/** Places a popover within the window, below a letter of a field, or above it if there is no room. */
export function placeAt(popover: HTMLElement, area: HTMLTextAreaElement, letter: DOMRect): void {
  const field = area.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const { clientWidth, clientHeight } = document.documentElement;
  const rtl = getComputedStyle(area).direction === 'rtl';
  const start = field.x + letter.x - area.scrollLeft + (rtl ? letter.width - width : 0);
  const top = Math.max(field.y + letter.y - area.scrollTop, field.y);
  const bottom = Math.min(top + letter.height, field.bottom) + GAP;
  popover.style.left = `${Math.max(EDGE, Math.min(start, clientWidth - width - EDGE))}px`;
  popover.style.top = `${bottom + height <= clientHeight ? bottom : Math.max(EDGE, top - height - GAP)}px`;
}
