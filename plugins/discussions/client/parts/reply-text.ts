/** The form's address says which post a reply answers. */
const addressOf = (form: HTMLFormElement): URL => new URL(form.action);

/** Number of the post that a reply answers; null where it answers none. */
export const answeredBy = (form: HTMLFormElement): string | null => addressOf(form).searchParams.get('to');

export function answer(form: HTMLFormElement, number: string | null): void {
  const address = addressOf(form);
  if (number === null) address.searchParams.delete('to');
  else address.searchParams.set('to', number);
  form.action = address.pathname + address.search;
}

/** Puts text behind what is written in a reply already. */
export function appendTo(area: HTMLTextAreaElement, text: string): void {
  const before = area.value.trimEnd();
  area.setRangeText(`${before === '' ? '' : '\n\n'}${text}`, before.length, area.value.length, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}
