/** Helpers for the messages on a conversation's page. */

export const numberOf = (message: HTMLElement): number => Number(message.id.slice('message-'.length));
export const messageOf = (number: number): HTMLElement | null => document.getElementById(`message-${number}`);

/**
 * Moves the focus to a message, so that keyboard navigation continues there, and scrolls to it unless `options` prevent
 * that.
 */
export function focusOn(message: HTMLElement, options?: FocusOptions): void {
  message.tabIndex = -1;
  message.focus(options);
}

/** Identifies the version of a message that others see. */
const versionOf = (message: HTMLElement): string =>
  `${message.querySelector<HTMLTimeElement>('.edited time')?.dateTime} ${message.querySelector(':scope > .prose')?.innerHTML}`;

/** Replaces a message by its current version, without moving what the user is reading or writing below it. */
export function showInstead(message: HTMLElement, now: HTMLElement): void {
  if (versionOf(message) === versionOf(now) || mend(message, now)) return;
  const focused = document.activeElement ?? document.body;
  const hadFocus = message.contains(focused);
  const anchor = focused === document.body || hadFocus ? readBehind(message) : focused;
  const before = anchor?.getBoundingClientRect().top;
  const { top, bottom } = message.getBoundingClientRect();
  message.replaceWith(now);
  if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - before!, behavior: 'instant' });
  if (hadFocus) focusOn(now, { preventScroll: bottom <= 0 || top >= innerHeight });
}

/**
 * If the form of the message is open, or closed with changes, updates only the parts around it. False if there is no
 * form, or the message can no longer be edited.
 */
function mend(message: HTMLElement, now: HTMLElement): boolean {
  const [text, before] = [now, message].map((one) => one.querySelector<HTMLElement>(':scope > .prose'));
  if (!text || !before || !message.querySelector('x-form')) return false;
  text.hidden = before.hidden;
  before.replaceWith(text);
  message.querySelector('.post-when')?.replaceWith(now.querySelector('.post-when')!);
  return true;
}

/** The element after a message that is above the visible part of the page. */
function readBehind(message: HTMLElement): Element | null {
  if (message.getBoundingClientRect().bottom > 0) return null;
  return message.nextElementSibling ?? message.parentElement!.nextElementSibling;
}
