import { announce, define, fragment, inPages, t } from '@forum/client';
import { focusOn, isUsedBelow, keepingPlace, numberOf, postsIn, readPost, postsChanged, topOf } from './parts/posts.ts';

type Way = 'prev' | 'next';
/** A post, and how far below the top of the screen it begins. */
interface Place {
  readonly post: string;
  readonly top: number;
}
/** Posts in a row, and the links to those around them. */
interface Part {
  readonly posts: readonly HTMLElement[];
  readonly prev: HTMLAnchorElement | null;
  readonly next: HTMLAnchorElement | null;
}
/** Where the reader wants to go: a post, and the address of its page. */
interface Target {
  readonly number: number;
  readonly href: string;
  /** Whether the keyboard goes along. */
  readonly focus: boolean;
}

/**
 * Loads each way that come by themselves until the link is pressed again, so that the foot of the page stays within
 * reach.
 */
const BY_THEMSELVES = 3;
/** Posts from which on the links lead to pages of their own: one with many more takes long to draw. */
const MOST_POSTS = 200;
/** Pixels beyond the screen within which posts are loaded. */
const NEAR = 1_000;
/** Milliseconds between two changes of the address. */
const THROTTLE = 250;

const linkIn = (root: ParentNode, way: Way) => root.querySelector<HTMLAnchorElement>(`.stream-more > [rel="${way}"]`);

/**
 * Makes the pages of a discussion one: posts before and after those that are shown come when one is near, and the
 * address follows what is read. It stands above the posts, with the link to those before them; `data-at` is the number
 * of the post that is read, and `data-page` of a post the address of the page with which it came.
 */
class Stream extends HTMLElement {
  readonly #loads = { prev: 0, next: 0 };
  #gone: AbortController | undefined;
  #loading: Promise<void> | undefined;
  #writing: ReturnType<typeof setTimeout> | undefined;
  /** Whether the reader moves, rather than the browser that goes to where the address points. */
  #reads = false;
  #before = scrollY;
  /** Whether the reader has asked for what is being loaded. */
  #asked = false;
  /** Posts that came when they would have pushed away what somebody saw above them, or did below. */
  #held: Partial<Record<Way, Part | undefined>> = {};

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    for (const post of postsIn(document)) post.dataset['page'] = location.pathname + location.search;
    document.addEventListener('click', (event) => this.#clicked(event), { signal });
    for (const input of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
      addEventListener(input, () => (this.#reads = true), { signal, passive: true });
    addEventListener('scroll', () => this.#moved(), { signal, passive: true });
    const go = (event: Event): void => void this.#go((event as CustomEvent<Target>).detail);
    document.addEventListener('discussions:go', go, { signal });
    void this.#return((history.state as { readonly stream?: Place } | null)?.stream);
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    clearTimeout(this.#writing);
  }

  #moved(): void {
    const up = scrollY < this.#before;
    this.#before = scrollY;
    this.#look(up ? 'prev' : 'next');
    this.#writing ??= setTimeout(() => this.#follow(), THROTTLE);
  }

  /** Loads what is near where one reads to. Nothing comes by itself between posts and what is seen above them. */
  #look(way: Way): void {
    const link = linkIn(document, way);
    if (!link || this.#loading || this.#rests(way) || (way === 'next' && isUsedBelow(link))) return;
    const away = topOf(link);
    if (way === 'next' ? away < innerHeight + NEAR : away < 0 && away > -NEAR) void this.#load(way);
  }

  #rests(way: Way): boolean {
    return this.#loads[way] >= BY_THEMSELVES || this.#full;
  }
  /** Whether links lead to pages of their own. */
  get #full(): boolean {
    return inPages() || postsIn(document).length >= MOST_POSTS;
  }

  #clicked(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>('.stream-more > a');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const way = link.rel as Way;
    if (this.#full || this.#loads[way] === Infinity) return;
    event.preventDefault();
    this.#loads[way] = 0;
    this.#asked = true;
    const shown = new Set(postsIn(document));
    void this.#load(way).then(() => {
      const added = postsIn(document).filter((post) => !shown.has(post));
      const nearest = way === 'next' ? added[0] : added.at(-1);
      if (!nearest) return;
      announce(t('loaded', { count: added.length }));
      focusOn(nearest);
    });
  }

  /** One load at a time. Where it fails the link leads to the page that could not be fetched. */
  #load(way: Way): Promise<void> {
    this.#loads[way]++;
    const busy = (value: string | null): void => void (document.querySelector('.stream')!.ariaBusy = value);
    busy('true');
    this.#loading ??= this.#add(way)
      .catch(() => (this.#loads[way] = Infinity))
      .then(() => {
        this.#loading = undefined;
        busy(null);
        linkIn(document, way)?.parentElement?.classList.toggle('still', this.#rests(way));
        this.#look(way);
      });
    return this.#loading;
  }

  async #add(way: Way): Promise<void> {
    const until = way === 'prev' ? numberOf(postsIn(document)[0]) - 1 : 0;
    const link = linkIn(document, way)!;
    const part = this.#held[way] ?? (await this.#fetch(link.href, until));
    const disturbs = !this.#asked && (way === 'prev' ? topOf(link) > 0 : isUsedBelow(link));
    this.#held[way] = disturbs ? part : undefined;
    this.#asked = false;
    if (disturbs) {
      this.#loads[way]--;
      return;
    }
    const posts = part.posts.filter(({ id }) => !document.getElementById(id));
    keepingPlace(() => {
      if (way === 'next')
        postsIn(document)
          .at(-1)!
          .after(...posts);
      else postsIn(document)[0]!.before(...posts);
      this.#lead(way, part[way]);
    });
    postsChanged();
  }

  /** What an address shows, and up to the post `until` what follows: long posts of a page come in several parts. */
  async #fetch(from: string, until: number): Promise<Part> {
    const posts: HTMLElement[] = [];
    let prev: HTMLAnchorElement | null | undefined;
    for (let { pathname, search } = new URL(from, location.href); ;) {
      const part = await fragment(pathname + search);
      const found = postsIn(part);
      for (const post of found) post.dataset['page'] = pathname + search;
      posts.push(...found);
      if (prev === undefined) prev = linkIn(part, 'prev');
      const next = linkIn(part, 'next');
      if (!next || found.length === 0 || numberOf(posts.at(-1)) >= until) return { posts, prev, next };
      ({ pathname, search } = new URL(next.getAttribute('href')!, location.href));
    }
  }

  #lead(way: Way, link: HTMLAnchorElement | null): void {
    const links = link ? [link] : [];
    if (way === 'prev') return this.replaceChildren(...links);
    const list = document.querySelector('.stream')!;
    const row = Object.assign(document.createElement('p'), { className: 'stream-more' });
    row.append(...links);
    // Another one, rather than the one before that would be seen to jump.
    if (list.nextElementSibling?.classList.contains('stream-more')) list.nextElementSibling.remove();
    list.after(row);
  }

  /** Tells where one is, and puts it into the address. */
  #follow(): void {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    const post = readPost();
    if (!post) return;
    this.#publish(post);
    if (!this.#reads) return;
    const address = `${post.dataset['page']}${numberOf(post) > 1 ? `#${post.id}` : ''}`;
    const place: Place = { post: post.id, top: topOf(post) };
    // The browser would go to so many pixels of a page that has other posts by then.
    history.scrollRestoration = 'manual';
    history.replaceState({ ...(history.state as object | null), stream: place }, '', address);
  }

  /** Says which post is read, in `data-at`: with the last one in view there is nothing further. */
  #publish(post: HTMLElement): void {
    const last = postsIn(document).at(-1)!;
    const end = !linkIn(document, 'next') && last.getBoundingClientRect().bottom <= innerHeight;
    this.dataset['at'] = String(numberOf(end ? last : post));
    document.dispatchEvent(new CustomEvent('discussions:at'));
  }

  /** To a post that may be far away: then those around it take the place of those that are shown. */
  async #go({ number, href, focus }: Target): Promise<void> {
    const find = () => document.getElementById(`post-${number}`);
    await this.#loading;
    if (!find() && inPages()) return location.assign(`${href}#post-${number}`);
    if (!find()) {
      this.#loading = this.#show(href, number)
        .catch(() => location.assign(href))
        .then(() => (this.#loading = undefined));
      await this.#loading;
    }
    const post = find();
    if (!post) return;
    if (number === 1) scrollTo({ top: 0, behavior: 'instant' });
    else post.scrollIntoView({ behavior: 'instant' });
    if (focus) focusOn(post);
    this.#reads = true;
    this.#follow();
    this.#look('next');
  }

  async #show(href: string, number: number): Promise<void> {
    const part = await this.#fetch(href, number);
    const shown = postsIn(document);
    this.#held = {};
    shown[0]!.before(...part.posts);
    for (const post of shown) post.remove();
    for (const way of ['prev', 'next'] as const) {
      this.#loads[way] = 0;
      this.#lead(way, part[way]);
    }
    postsChanged();
  }

  /** Back to where one was on this page, which has now the posts of its address alone. */
  async #return(place: Place | undefined): Promise<void> {
    const post = place && document.getElementById(place.post);
    if (post) {
      // It was read, not looked up.
      post.parentElement!.classList.add('returned');
      const put = (): void => scrollBy({ top: topOf(post) - place.top, behavior: 'instant' });
      put();
      if (Math.abs(topOf(post) - place.top) > 1 && linkIn(document, 'prev')) {
        this.#asked = true;
        await this.#load('prev');
        put();
      }
    }
    this.#follow();
    this.#look('next');
  }
}

define('x-stream', Stream);
