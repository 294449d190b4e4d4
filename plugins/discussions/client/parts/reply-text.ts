/** The URL of the form's action, which says which post a reply answers. */
const addressOf = (form: HTMLFormElement): URL => new URL(form.action);

/** Number of the post that a reply answers; null if it answers none. */
export const answeredBy = (form: HTMLFormElement): string | null => addressOf(form).searchParams.get('to');

export function answer(form: HTMLFormElement, number: string | null): void {
  const address = addressOf(form);
  if (number === null) address.searchParams.delete('to');
  else address.searchParams.set('to', number);
  form.action = address.pathname + address.search;
}

/** Appends text to what has already been written in a reply. */
export function appendTo(area: HTMLTextAreaElement, text: string): void {
  const before = area.value.trimEnd();
  area.setRangeText(`${before === '' ? '' : '\n\n'}${text}`, before.length, area.value.length, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}
