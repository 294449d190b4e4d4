import { announce, define, fragment } from '@forum/client';
import { focusOn, goTo, hasNext, keepingPlace, numberOf, postsIn, readsEnd, postsChanged } from './parts/posts.ts';

interface ChangedPost {
  readonly discussion_id: string;
  readonly number: number;
  readonly reply_to_number?: number | null;
}
/** What an event of the stream says of posts that went from a discussion to another one. */
interface MovedPosts {
  readonly source: { readonly id: string } | null;
  readonly discussion: { readonly id: string } | null;
  readonly posts: readonly { readonly from_number: number | null }[];
  readonly merged: boolean;
}
/** What an event of the stream says of posts, or a signal. */
type Message = ChangedPost | { readonly data: { readonly post: ChangedPost } | MovedPosts };
/** What the posts of a page ask to keep them. */
export interface PostChanges extends HTMLElement {
  /** Whether somebody has a part of a post in hand, which stays as it is for now. */
  inUse: (part: Element) => boolean;
  heard(event: Event): void;
  /** A post was changed here. */
  changedHere(number: string): void;
}
/**
 * Milliseconds within which changes are collected, and up to which pages wait at random, so that they do not all ask at
 * once.
 */
const COLLECT = 500;
const SPREAD = 1_000;
/** Milliseconds after which is tried again what somebody was about to use. */
const AGAIN = 5_000;

/**
 * Keeps posts of an open page as they are: those that are edited, deleted, restored or answered are fetched from their
 * page, and new ones where the end of the discussion is read.
 */
class Changes extends HTMLElement implements PostChanges {
  inUse = (_part: Element): boolean => false;
  readonly #changed = new Set<string>();
  #came = false;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    document.querySelector('x-replies a')?.addEventListener('click', this.#clicked);
  }

  disconnectedCallback(): void {
    clearTimeout(this.#waiting);
    document.querySelector('x-replies a')?.removeEventListener('click', this.#clicked);
  }

  /** Whoever asks for the new replies gets them without leaving the page, and what they write in it. */
  readonly #clicked = (event: Event): void => {
    const { ctrlKey, metaKey, shiftKey, altKey } = event as MouseEvent;
    if (ctrlKey || metaKey || shiftKey || altKey) return;
    event.preventDefault();
    const { href } = event.currentTarget as HTMLAnchorElement;
    void this.#bring(href).catch(() => location.assign(href));
  };

  async #bring(href: string): Promise<void> {
    const last = postsIn(document).at(-1)!;
    const first = hasNext() ? undefined : append(await fragment(pageOf(last)), pageOf(last));
    if (!first) return location.assign(href);
    postsChanged();
    goTo(first, href);
  }

  heard(event: Event): void {
    const { detail } = event as CustomEvent<Message>;
    const time = COLLECT + SPREAD * Math.random();
    const data = 'data' in detail ? detail.data : { post: detail };
    if ('posts' in data) return this.#moved(data, time);
    const { discussion_id: of, number, reply_to_number: answered } = data.post;
    if (of !== texts()['discussion']) return;
    for (const one of [number, answered]) this.#wait(`post-${one}`, time);
    if (event.type.endsWith('.created')) this.#expect(time);
  }

  /** The page of a discussion that was merged is gone, so it stays as it is. */
  #moved({ source, discussion, posts, merged }: MovedPosts, time: number): void {
    const own = texts()['discussion'];
    if (source?.id === own && !merged) for (const { from_number: number } of posts) this.#wait(`post-${number}`, time);
    if (discussion?.id === own) this.#expect(time);
  }

  /** New posts are fetched where the end of the discussion is read. */
  #expect(time: number): void {
    if (!readsEnd()) return postsChanged();
    this.#came = true;
    this.#later(time);
  }

  changedHere(number: string): void {
    this.#wait(`post-${number}`, 0);
  }

  #wait(id: string, time: number): void {
    if (!document.getElementById(id)) return;
    this.#changed.add(id);
    this.#later(time);
  }

  #later(time: number): void {
    this.#waiting ??= setTimeout(() => void this.#update(), time);
  }

  async #update(): Promise<void> {
    this.#waiting = undefined;
    const came = this.#came;
    this.#came = false;
    const last = came && readsEnd() ? postsIn(document).at(-1)! : undefined;
    if (last) this.#changed.add(last.id);
    const posts = [...this.#changed].map((id) => document.getElementById(id)).filter((post) => post !== null);
    this.#changed.clear();
    for (const [page, own] of Map.groupBy(posts, pageOf)) {
      // The next visit shows what cannot be fetched now.
      const part = await fragment(page).catch(() => undefined);
      const fresh = own.flatMap((post) => runOf(part?.querySelector(`#${post.id}`) ?? null));
      for (const now of new Set(fresh)) {
        const post = document.getElementById(now.id);
        if (post) keepingPlace(() => this.#replace(post, now));
      }
      if (part && last && own.includes(last)) this.#announce(append(part, page));
    }
    // Where none came, that is known as well.
    if (came) postsChanged();
  }

  #announce(first: HTMLElement | undefined): void {
    const count = first ? numberOf(postsIn(document).at(-1)) - numberOf(first) + 1 : 0;
    if (count > 0) announce((texts()['text'] ?? '').replace('{count}', String(count)));
  }

  #replace(post: HTMLElement, now: HTMLElement): void {
    if (post.className !== now.className) {
      const focused = post.contains(document.activeElement);
      if (post.dataset['page'] !== undefined) now.dataset['page'] = post.dataset['page'];
      post.replaceWith(now);
      if (focused) focusOn(now);
    } else if (mend(post, now, this.inUse)) {
      this.#wait(post.id, AGAIN);
    }
  }
}

/** What the page says of replies that have come, and of which discussion. */
const texts = (): DOMStringMap => document.querySelector<HTMLElement>('x-replies')?.dataset ?? {};

/** The address of the page that a post is on. */
const pageOf = (post: HTMLElement): string => post.dataset['page'] ?? location.pathname + location.search;

/** A post, with those that one line tells of together with it: posts that went to another discussion. */
function runOf(post: Element | null): readonly HTMLElement[] {
  let first = post as HTMLElement | null;
  while (first?.matches('.along')) first = first.previousElementSibling as HTMLElement | null;
  const run: HTMLElement[] = [];
  for (let one = first; one; one = one.nextElementSibling as HTMLElement | null) {
    if (one !== first && !one.matches('.along')) break;
    run.push(one);
  }
  return run;
}

/** Puts those posts of a page that are not shown yet behind those that are; the first of them. */
function append(part: ParentNode, page: string): HTMLElement | undefined {
  const last = postsIn(document).at(-1)!;
  const fresh = postsIn(part).filter((post) => numberOf(post) > numberOf(last));
  for (const post of fresh) post.dataset['page'] = page;
  last.after(...fresh);
  return fresh[0];
}

/** Whether both say the same: how long ago something was, this page tells by itself. */
function sameAs(one: Element, other: Element): boolean {
  const [plain, then] = [one, other].map((element) => {
    const copy = element.cloneNode(true) as Element;
    copy.removeAttribute('open');
    for (const time of copy.querySelectorAll('time')) {
      time.replaceChildren();
      time.removeAttribute('title');
    }
    return copy;
  });
  return plain!.isEqualNode(then!);
}

/** Replaces the parts that differ; true where one of them is in use and stays. What stays is not moved, or it would lose the focus. */
function mend(post: Element, now: Element, inUse: (part: Element) => boolean): boolean {
  const kept = new Set<Element>();
  let [last, left]: [Element | undefined, boolean] = [undefined, false];
  const [parts, before] = [[...now.children], [...post.children]];
  for (const part of parts) {
    const own = before.filter((one) => !kept.has(one));
    const same = own.find((one) => sameAs(one, part));
    const used = same ? undefined : own.find((one) => one.className === part.className && inUse(one));
    left ||= used !== undefined;
    const shown: Element = same ?? used ?? part;
    if (shown === part) {
      // A list that was opened stays so.
      if (own.some((one) => one.className === part.className && one.matches('[open]'))) part.setAttribute('open', '');
      if (last) last.after(part);
      else post.prepend(part);
    }
    kept.add(shown);
    last = shown;
  }
  // What is offered for a selection goes with that.
  for (const part of before) if (!kept.has(part) && !part.matches(':popover-open')) part.remove();
  return left;
}

define('x-changes', Changes);
