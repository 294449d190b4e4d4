import { announce } from '@forum/client';

/** The problem that was fixed before a form is sent again. */
export type Mended = 'token' | 'session';

/** Shows a message above the form's buttons, in a line that is created on first use. */
export function say(form: HTMLFormElement, text: string, loud = true): void {
  let line = form.querySelector<HTMLElement>('.form-state');
  if (!line) {
    if (text === '') return;
    line = document.createElement('p');
    line.className = 'form-state problem';
    form.append(line);
  }
  line.textContent = text;
  if (loud && text) announce(text);
}

/** The message that `say` showed last. */
export const said = (form: HTMLFormElement): string | null | undefined =>
  form.querySelector('.form-state')?.textContent;
