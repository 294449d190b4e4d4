import { announce } from '@forum/client';
import { mend, sameAs, type InUse } from './mend.ts';
import { focusOn, postsIn } from './posts.ts';

/** Helpers for what surrounds the posts on a discussion's page: its head, its state and the form to reply. */

const HEAD = '.page-head';
const STATE = '.discussion-state';

/** Shows the head and the state of a discussion as they are now; returns true if a part in use was kept. */
export function mendHead(now: ParentNode, inUse: InUse): boolean {
  const [head, nowHead] = [document.querySelector(HEAD), now.querySelector(HEAD)];
  if (!head || !nowHead) return false;
  const [title, nowTitle] = [head, nowHead].map((one) => one.querySelector('h1')?.textContent ?? '') as [
    string,
    string,
  ];
  head.className = nowHead.className;
  const left = mend(head, nowHead, inUse);
  if (title !== nowTitle) {
    document.title = document.title.replace(title, () => nowTitle);
    announce(nowTitle);
  }
  const [state, nowState] = [document.querySelector(STATE), now.querySelector(STATE)];
  if (state && nowState && !sameAs(state, nowState)) state.replaceWith(nowState);
  return left;
}

/** Continues at the address of a discussion that was renamed. */
export function renamePage(path: string): void {
  const before = location.pathname;
  if (path === before) return;
  const renamed = (address: string): string =>
    address.split('?')[0] === before ? path + address.slice(before.length) : address;
  for (const { dataset } of postsIn(document)) if (dataset['page']) dataset['page'] = renamed(dataset['page']);
  for (const link of document.querySelectorAll('.stream-more > a'))
    link.setAttribute('href', renamed(link.getAttribute('href')!));
  const position = document.querySelector<HTMLElement>('x-position');
  if (position) position.dataset['path'] = path;
  history.replaceState(history.state, '', path + location.search + location.hash);
}

/** Shows that the discussion was deleted, for readers who cannot see it any more. */
export function showGone(text: string): void {
  const notice = Object.assign(document.createElement('div'), { className: 'notice warning' });
  notice.append(Object.assign(document.createElement('p'), { textContent: text }));
  document.querySelector(STATE)?.replaceChildren(notice);
  const reply = replyOf(document);
  if (reply) show(reply, Object.assign(reply.cloneNode() as HTMLElement, { className: 'reply' }), null);
  announce(text);
}

/**
 * Shows the form to reply, or why there is none now. Returns whether replies have become possible or impossible.
 */
export function mendReply(now: ParentNode): boolean {
  const [reply, next] = [replyOf(document), replyOf(now)];
  if (!reply || !next) return false;
  const [was, is] = [isOpen(reply), isOpen(next)];
  show(reply, next, now.querySelector('x-dock'));
  if (was && !is) announce(noticesIn(replyOf(document)!).map(textOf).join(' '));
  return was !== is;
}

const replyOf = (root: ParentNode): HTMLElement | null => root.querySelector<HTMLElement>('#reply');
const textOf = (element: Element): string => element.textContent.trim().replaceAll(/\s+/g, ' ');
const noticesIn = (reply: Element): readonly Element[] => [...reply.querySelectorAll(':scope > .notice')];

/** Whether a reply can be written in this section. */
const isOpen = (reply: Element): boolean => reply.querySelector('form') !== null && !reply.hasAttribute('data-closed');

/** Whether the form contains text, or shares the dock with a post that is being edited. */
const isNeeded = (reply: Element): boolean =>
  reply.querySelector('textarea')?.value.trim() !== '' || document.querySelector('.docked:not(#reply)') !== null;

/** A form that may be needed stays: what was written can still be copied, and sent once replies are possible again. */
function show(reply: HTMLElement, next: HTMLElement, dock: Element | null): void {
  if (reply.querySelector('form') && (isOpen(next) || isNeeded(reply))) {
    const [before, notices] = [noticesIn(reply), noticesIn(next)];
    if (before.map(textOf).join() !== notices.map(textOf).join()) {
      for (const notice of before) notice.remove();
      reply.querySelector('h2')?.after(...notices);
    }
    close(reply, !isOpen(next));
  } else if (!sameAs(reply, next)) {
    const focused = reply.contains(document.activeElement);
    document.querySelector('x-dock')?.remove();
    reply.replaceWith(...(dock ? [dock, next] : [next]));
    if (focused) focusOn(next);
  }
}

/** Closes the form of a reply, or opens it again. */
function close(reply: HTMLElement, closed: boolean): void {
  if (reply.hasAttribute('data-closed') === closed) return;
  reply.toggleAttribute('data-closed', closed);
  for (const area of reply.querySelectorAll('textarea')) area.readOnly = closed;
  for (const button of reply.querySelectorAll<HTMLButtonElement>(
    closed ? 'form button:not(:disabled)' : 'button[data-closed]',
  )) {
    button.disabled = closed;
    button.toggleAttribute('data-closed', closed);
  }
}
