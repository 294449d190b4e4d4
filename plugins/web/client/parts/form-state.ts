import { announce } from '@forum/client';

/** What was put right before a form is sent once more. */
export type Mended = 'token' | 'session';

/** One line above the form's buttons, made when it is first needed. */
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

/** What `say` said last. */
export const said = (form: HTMLFormElement): string | null | undefined =>
  form.querySelector('.form-state')?.textContent;
