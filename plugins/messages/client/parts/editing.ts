import { loadElement, type PageForm } from '@forum/client';
import { focusOn } from './messages.ts';

const formIn = (message: Element) => message.querySelector<PageForm>('x-form');

/** Puts the form of a message in place of its text, until it is sent or put away. Rejects where it cannot be had. */
export async function editMessage(link: HTMLAnchorElement, saved: (message: HTMLElement) => void): Promise<void> {
  const message = link.closest<HTMLElement>('.post')!;
  if (!formIn(message)) {
    const form = await bring(link);
    // It may have been pressed twice, or the message was changed elsewhere meanwhile.
    if (!message.isConnected || formIn(message)) return;
    message.append(form);
    listen(form, message, saved);
  }
  show(message, true);
  // The form of a long message stands above what is in view.
  formIn(message)!.querySelector('textarea')!.focus();
}

async function bring(link: HTMLAnchorElement): Promise<PageForm> {
  await Promise.all([loadElement('x-form'), loadElement('x-composer')]);
  const form = document.createElement('x-form') as PageForm;
  await form.bring(link.pathname);
  return form;
}

/** What was written waits in a form that is put away; else the next one is that of the message as it is by then. */
function show(message: HTMLElement, editing: boolean): void {
  const form = formIn(message)!;
  form.hidden = !editing;
  for (const part of message.querySelectorAll<HTMLElement>(':scope > :is(.prose, .post-actions)'))
    part.hidden = editing;
  if (!editing && !form.isChanged) form.remove();
}

function listen(brought: PageForm, message: HTMLElement, saved: (message: HTMLElement) => void): void {
  const form = brought.querySelector('form')!;
  const away = (): void => {
    show(message, false);
    message.querySelector<HTMLElement>('[data-edit]')?.focus();
  };
  form.addEventListener('forum:sent', () => {
    form.reset();
    show(message, false);
    focusOn(message);
    saved(message);
  });
  form.querySelector('.composer-foot a')?.addEventListener('click', (event) => {
    event.preventDefault();
    // With it goes its draft.
    if (brought.isChanged) form.reset();
    away();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
    if (!document.querySelector(':popover-open')) away();
  });
}
