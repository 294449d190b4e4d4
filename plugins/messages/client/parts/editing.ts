import { loadElement, type PageForm } from '@forum/client';
import { focusOn } from './messages.ts';

const formIn = (message: Element) => message.querySelector<PageForm>('x-form');

/** Shows a form in place of a message's text until it is sent or closed. Rejects if the form cannot be fetched. */
export async function editMessage(link: HTMLAnchorElement, saved: (message: HTMLElement) => void): Promise<void> {
  const message = link.closest<HTMLElement>('.post')!;
  if (!formIn(message)) {
    const form = await bring(link);
    // The link may have been clicked twice, or the message may have changed elsewhere in the meantime.
    if (!message.isConnected || formIn(message)) return;
    message.append(form);
    listen(form, message, saved);
  }
  show(message, true);
  // The form of a long message may be above the visible part of the page, so it is scrolled into view.
  formIn(message)!.querySelector('textarea')!.focus();
}

async function bring(link: HTMLAnchorElement): Promise<PageForm> {
  await Promise.all([loadElement('x-form'), loadElement('x-composer')]);
  const form = document.createElement('x-form') as PageForm;
  await form.bring(link.pathname);
  return form;
}

/**
 * A closed form with changes is kept. Otherwise it is removed, and the next one has the text that the message has then.
 */
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
    // Resetting the form discards its draft.
    if (brought.isChanged) form.reset();
    away();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
    if (!document.querySelector(':popover-open')) away();
  });
}
