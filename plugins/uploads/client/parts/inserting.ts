import { insertText } from '@forum/client';

/**
 * Replaces a part of a text that may not have the focus, so that it can be undone, and leaves selection, focus and
 * scroll position where they are. Where nothing has the focus, as on phones, the keyboard must not open: then it cannot
 * be undone.
 */
export function replaceText(area: HTMLTextAreaElement, text: string, start: number, end: number): void {
  const focused = document.activeElement;
  if (!(focused instanceof HTMLElement) || focused === document.body) {
    area.setRangeText(text, start, end, 'preserve');
    area.dispatchEvent(new Event('input', { bubbles: true }));
    return;
  }
  const { selectionStart, selectionEnd, scrollTop } = area;
  const place = scrollY;
  const moved = (at: number): number => {
    if (at <= start) return at;
    return at >= end ? at + text.length - (end - start) : start + text.length;
  };
  area.focus({ preventScroll: true });
  insertText(area, text, start, end);
  area.setSelectionRange(moved(selectionStart), moved(selectionEnd));
  area.scrollTop = scrollTop;
  if (focused !== area) focused.focus({ preventScroll: true });
  scrollTo({ top: place, behavior: 'instant' });
}
