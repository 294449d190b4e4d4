/** The messages of a conversation's page, by script. */

export const numberOf = (message: HTMLElement): number => Number(message.id.slice('message-'.length));
export const messageOf = (number: number): HTMLElement | null => document.getElementById(`message-${number}`);

/** Lets the keyboard go on from a message, and brings that into view unless it must not move what is there. */
export function focusOn(message: HTMLElement, options?: FocusOptions): void {
  message.tabIndex = -1;
  message.focus(options);
}

/** What others notice of a change. */
const versionOf = (message: HTMLElement): string =>
  `${message.querySelector<HTMLTimeElement>('.edited time')?.dateTime} ${message.querySelector(':scope > .prose')?.innerHTML}`;

/** As it is now in place of what it was, without moving what somebody reads or writes below it. */
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

/** Where its form is open, or waits with what was written, that stays; false where there is none, or nothing to edit any more. */
function mend(message: HTMLElement, now: HTMLElement): boolean {
  const [text, before] = [now, message].map((one) => one.querySelector<HTMLElement>(':scope > .prose'));
  if (!text || !before || !message.querySelector('x-form')) return false;
  text.hidden = before.hidden;
  before.replaceWith(text);
  message.querySelector('.post-when')?.replaceWith(now.querySelector('.post-when')!);
  return true;
}

/** What follows a message that is above what is in view. */
function readBehind(message: HTMLElement): Element | null {
  if (message.getBoundingClientRect().bottom > 0) return null;
  return message.nextElementSibling ?? message.parentElement!.nextElementSibling;
}
