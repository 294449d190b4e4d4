import { loadElement, type PageForm } from '@forum/client';
import { focusOn } from './messages.ts';

/** Whether a message has its form open. */
export const isEdited = (message: HTMLElement): boolean => message.querySelector('x-form') !== null;

/** Puts the form of a message in place of its text, until it is sent or put away. Rejects where it cannot be had. */
export async function editMessage(link: HTMLAnchorElement, saved: (message: HTMLElement) => void): Promise<void> {
  await Promise.all([loadElement('x-form'), loadElement('x-composer')]);
  const brought = document.createElement('x-form') as PageForm;
  brought.ariaLabel = await brought.bring(link.pathname);
  const message = link.closest<HTMLElement>('.post');
  // It may have been pressed twice, or changed elsewhere meanwhile.
  if (!message || isEdited(message)) return;
  const form = brought.querySelector('form')!;
  const replaced = [...message.querySelectorAll<HTMLElement>('.prose, .post-actions')];
  const show = (on: boolean): void => {
    for (const part of replaced) part.hidden = on;
  };
  const close = (): void => {
    brought.remove();
    show(false);
  };
  show(true);
  message.append(brought);
  form.addEventListener('forum:sent', () => {
    close();
    focusOn(message);
    saved(message);
  });
  form.querySelector('.composer-foot a')?.addEventListener('click', (event) => {
    event.preventDefault();
    // With it goes its draft.
    if (brought.isChanged) form.reset();
    close();
    link.focus({ preventScroll: true });
  });
  // What is written is kept as a draft.
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector(':popover-open')) return;
    close();
    link.focus({ preventScroll: true });
  });
  form.querySelector('textarea')!.focus({ preventScroll: true });
}
