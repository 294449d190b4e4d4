/** Puts text behind what is written in a reply already. */
export function appendTo(area: HTMLTextAreaElement, text: string): void {
  const before = area.value.trimEnd();
  area.setRangeText(`${before === '' ? '' : '\n\n'}${text}`, before.length, area.value.length, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}
