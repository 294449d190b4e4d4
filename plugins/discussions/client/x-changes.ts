import { announce, define, fragment } from '@forum/client';
import { mendHead, mendReply, renamePage, showGone } from './parts/head.ts';
import { mend, type InUse } from './parts/mend.ts';
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
/** The part used here of an event on the live stream about the discussion itself. */
interface ChangedDiscussion {
  readonly discussion: {
    readonly id: string;
    /** Absent from deleted ones. */
    readonly url?: string;
  };
}
/** An event or signal on the live stream about posts or their discussion. */
type Message = ChangedPost | { readonly data: { readonly post: ChangedPost } | MovedPosts | ChangedDiscussion };
/** The element that keeps the posts on a page up to date. */
export interface PostChanges extends HTMLElement {
  /** Whether the open menu of a post belongs to this part of it. */
  hasMenu: (part: Element) => boolean;
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
 * Milliseconds after a page was fetched before it is fetched again only because something shown with its posts changed,
 * such as reactions, which many readers may give at the same time.
 */
const CALM = 5_000;
/** Stands for the head of the discussion among the ids of posts. */
const HEAD = 'head';

/**
 * Keeps an open page of a discussion up to date: its head when the discussion changed; posts that were edited, deleted,
 * restored or answered, which are fetched again from their page; and new posts, which are appended if the end of the
 * discussion is in view.
 */
class Changes extends HTMLElement implements PostChanges {
  hasMenu = (_part: Element): boolean => false;
  /** Ids of posts to update, and from when on. */
  readonly #due = new Map<string, number>();
  /** When each page was fetched last. */
  readonly #fetched = new Map<string, number>();
  #came = false;
  #deleted = false;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  /** Whether the focus, a selection or an open menu is in this part of the page, or a script holds it. */
  readonly #inUse: InUse = (part) => {
    const selection = getSelection();
    return (
      part.contains(document.activeElement) ||
      part.matches('[data-held]') ||
      part.querySelector('[data-held], :popover-open') !== null ||
      (selection?.type === 'Range' && selection.containsNode(part, true)) ||
      this.hasMenu(part)
    );
  };

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
    const { detail, type } = event as CustomEvent<Message>;
    const time = COLLECT + SPREAD * Math.random();
    const data = 'data' in detail ? detail.data : { post: detail };
    if ('posts' in data) return this.#moved(data, time);
    if ('discussion' in data) return this.#changed(data.discussion, time);
    const { discussion_id: of, number, reply_to_number: answered } = data.post;
    if (of !== texts()['discussion']) return;
    const calm = type.endsWith('.looks-changed') ? CALM : 0;
    for (const one of [number, answered]) this.#wait(`post-${one}`, time, calm);
    // What is shown with the question may also be shown in the head.
    if (calm > 0 && number === 1) this.#wait(HEAD, time, calm);
    if (type.endsWith('.created')) this.#expect(time);
  }

  #changed({ id, url }: ChangedDiscussion['discussion'], time: number): void {
    if (id !== texts()['discussion']) return;
    this.#deleted = url === undefined;
    if (url !== undefined) renamePage(new URL(url).pathname);
    this.#wait(HEAD, time);
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
    this.#wait(postsIn(document).at(-1)!.id, time);
  }

  changedHere(number: string): void {
    this.#wait(`post-${number}`, 0);
  }

  /** `calm`: milliseconds that have to pass since its page was last fetched. */
  #wait(id: string, time: number, calm = 0): void {
    const post = postOf(id);
    if (!post) return;
    const last = this.#fetched.get(pageOf(post)) ?? -Infinity;
    const at = Math.max(performance.now(), last + calm) + time;
    this.#due.set(id, Math.min(at, this.#due.get(id) ?? at));
    this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#waiting);
    const next = Math.min(...this.#due.values());
    if (next < Infinity) this.#waiting = setTimeout(() => void this.#update(), next - performance.now());
  }

  /** Updates what is due, and whatever else waits on the same pages. */
  async #update(): Promise<void> {
    const came = this.#came;
    this.#came = false;
    const last = came && readsEnd() ? postsIn(document).at(-1)! : undefined;
    if (last) this.#due.set(last.id, 0);
    const now = performance.now() + 1;
    const pages = new Map<string, Set<string>>();
    for (const [id, at] of this.#due) {
      const post = postOf(id);
      if (!post) this.#due.delete(id);
      else if (at <= now) pages.set(pageOf(post), new Set());
    }
    for (const id of this.#due.keys()) pages.get(pageOf(postOf(id)!))?.add(id);
    for (const [page, ids] of pages) {
      for (const id of ids) this.#due.delete(id);
      await this.#refresh(page, ids, last);
    }
    // Listeners are told even if there were no new posts.
    if (came) postsChanged();
    this.#plan();
  }

  async #refresh(page: string, ids: ReadonlySet<string>, last: HTMLElement | undefined): Promise<void> {
    this.#fetched.set(page, performance.now());
    // Anything that cannot be fetched now is shown on the next visit.
    const part = await fragment(page).catch(() => undefined);
    if (!part) return this.#failed(ids);
    // The page of a merged discussion leads to the one that it was merged with.
    if (part.querySelector<HTMLElement>('x-replies')?.dataset['discussion'] !== texts()['discussion']) return;
    const own = new Set(ids);
    if (own.delete(HEAD) && this.#mendHead(part)) for (const { id } of postsIn(document)) own.add(id);
    this.#show(part, page, own);
    if (last && ids.has(last.id)) this.#announce(append(part, page));
  }

  /** Shows the fetched posts of a page; those of other pages wait for theirs. */
  #show(part: ParentNode, page: string, ids: ReadonlySet<string>): void {
    const fresh = new Set<HTMLElement>();
    for (const id of ids) {
      const post = document.getElementById(id);
      if (post && pageOf(post) !== page) this.#wait(id, 0);
      else if (post) for (const one of runOf(part.querySelector(`#${id}`))) fresh.add(one);
    }
    for (const now of fresh) {
      const post = document.getElementById(now.id);
      if (post) keepingPlace(() => this.#replace(post, now));
    }
  }

  #failed(ids: ReadonlySet<string>): void {
    if (this.#deleted && ids.has(HEAD)) showGone(texts()['gone'] ?? '');
  }

  /** Returns whether the actions of all posts may have changed with it. */
  #mendHead(part: ParentNode): boolean {
    let changed = false;
    keepingPlace(() => {
      if (mendHead(part, this.#inUse)) this.#wait(HEAD, AGAIN);
      changed = mendReply(part);
    });
    return changed;
  }

  #announce(first: HTMLElement | undefined): void {
    const count = first ? numberOf(postsIn(document).at(-1)) - numberOf(first) + 1 : 0;
    if (count > 0) announce((texts()['text'] ?? '').replace('{count}', String(count)));
  }

  #replace(post: HTMLElement, now: HTMLElement): void {
    const focused = post.contains(document.activeElement);
    if (post.className !== now.className) {
      if (post.dataset['page'] !== undefined) now.dataset['page'] = post.dataset['page'];
      post.replaceWith(now);
      if (focused) focusOn(now);
    } else {
      if (mend(post, now, this.#inUse)) this.#wait(post.id, AGAIN);
      if (focused && !post.contains(document.activeElement)) focusOn(post);
    }
  }
}

/** The post with this id; for the head any post, as it is on every page. */
const postOf = (id: string): HTMLElement | null =>
  id === HEAD ? (postsIn(document)[0] ?? null) : document.getElementById(id);

/** Announcements and the id of the discussion, from data attributes. */
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

define('x-changes', Changes);
