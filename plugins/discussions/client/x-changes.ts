import { announce, define, fragment } from '@forum/client';
import { focusOn, goTo, hasNext, keepingPlace, numberOf, postsIn, readsEnd, postsChanged } from './parts/posts.ts';

interface ChangedPost {
  readonly discussion_id: string;
  readonly number: number;
  readonly reply_to_number?: number | null;
}
/** The part used here of an event on the live stream about posts that moved to another discussion. */
interface MovedPosts {
  readonly source: { readonly id: string } | null;
  readonly discussion: { readonly id: string } | null;
  readonly posts: readonly { readonly from_number: number | null }[];
  readonly merged: boolean;
}
/** An event or signal on the live stream about posts. */
type Message = ChangedPost | { readonly data: { readonly post: ChangedPost } | MovedPosts };
/** The element that keeps the posts on a page up to date. */
export interface PostChanges extends HTMLElement {
  /** Whether the user is interacting with a part of a post, which must not be replaced now. */
  inUse: (part: Element) => boolean;
  heard(event: Event): void;
  /** Call it after a post was changed on this page. */
  changedHere(number: string): void;
}
/**
 * Milliseconds during which changes are collected, and the upper bound of a random delay that keeps pages from all
 * sending their requests at once.
 */
const COLLECT = 500;
const SPREAD = 1_000;
/** Milliseconds after which parts that were in use are updated again. */
const AGAIN = 5_000;

/**
 * Keeps the posts of an open page up to date: posts that were edited, deleted, restored or answered are fetched again
 * from their page, and new ones are appended if the end of the discussion is in view.
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

  /** Loads the new replies into the page when their link is clicked, so that the user keeps what they are writing. */
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

  /** The page of a merged discussion no longer exists, so its posts are left alone. */
  #moved({ source, discussion, posts, merged }: MovedPosts, time: number): void {
    const own = texts()['discussion'];
    if (source?.id === own && !merged) for (const { from_number: number } of posts) this.#wait(`post-${number}`, time);
    if (discussion?.id === own) this.#expect(time);
  }

  /** New posts are fetched if the end of the discussion is in view. */
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
      // Anything that cannot be fetched now is shown on the next visit.
      const part = await fragment(page).catch(() => undefined);
      const fresh = own.flatMap((post) => runOf(part?.querySelector(`#${post.id}`) ?? null));
      for (const now of new Set(fresh)) {
        const post = document.getElementById(now.id);
        if (post) keepingPlace(() => this.#replace(post, now));
      }
      if (part && last && own.includes(last)) this.#announce(append(part, page));
    }
    // Listeners are told even if there were no new posts.
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

/** The announcement of new replies and the id of the discussion, from data attributes. */
const texts = (): DOMStringMap => document.querySelector<HTMLElement>('x-replies')?.dataset ?? {};

/** The URL of the page that a post is on. */
const pageOf = (post: HTMLElement): string => post.dataset['page'] ?? location.pathname + location.search;

/** A post, together with its neighbours that share one line with it because they were moved to another discussion. */
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

/** Appends those posts of a page that are not shown yet; returns the first of them. */
function append(part: ParentNode, page: string): HTMLElement | undefined {
  const last = postsIn(document).at(-1)!;
  const fresh = postsIn(part).filter((post) => numberOf(post) > numberOf(last));
  for (const post of fresh) post.dataset['page'] = page;
  last.after(...fresh);
  return fresh[0];
}

/** Whether both have the same content. Relative times are ignored, because this page keeps them current itself. */
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

/**
 * Replaces the parts that differ; returns true if one of them was in use and therefore kept. Parts that stay are not
 * moved in the DOM, because they would lose the focus.
 */
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
      // A list that was open stays open.
      if (own.some((one) => one.className === part.className && one.matches('[open]'))) part.setAttribute('open', '');
      if (last) last.after(part);
      else post.prepend(part);
    }
    kept.add(shown);
    last = shown;
  }
  // The popover offered for a selection is removed along with it.
  for (const part of before) if (!kept.has(part) && !part.matches(':popover-open')) part.remove();
  return left;
}

define('x-changes', Changes);
