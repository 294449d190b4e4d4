import { announce, define, fragment, inPages, t } from '@forum/client';
import { focusOn, isUsedBelow, keepingPlace, numberOf, postsIn, readPost, postsChanged, topOf } from './parts/posts.ts';

type Way = 'prev' | 'next';
/** A post, and the distance of its top from the top of the screen. */
interface Place {
  readonly post: string;
  readonly top: number;
}
/** Consecutive posts, with the links to the posts before and after them. */
interface Part {
  readonly posts: readonly HTMLElement[];
  readonly prev: HTMLAnchorElement | null;
  readonly next: HTMLAnchorElement | null;
}
/** The post that the reader wants to go to, and the URL of its page. */
interface Target {
  readonly number: number;
  readonly href: string;
  /** Whether to move the keyboard focus there. */
  readonly focus: boolean;
}

/**
 * Number of automatic loads in each direction until the link is clicked again, so that the footer of the page stays
 * within reach.
 */
const BY_THEMSELVES = 3;
/** Number of posts from which on the links lead to other pages, because rendering many more takes long. */
const MOST_POSTS = 200;
/** Distance from the screen in pixels within which posts are loaded. */
const NEAR = 1_000;
/** Milliseconds between two updates of the address. */
const THROTTLE = 250;

const linkIn = (root: ParentNode, way: Way) => root.querySelector<HTMLAnchorElement>(`.stream-more > [rel="${way}"]`);

/**
 * Joins the pages of a discussion into one: posts before and after those shown are loaded when the reader comes near,
 * and the address follows the reading position. The element stands above the posts, with the link to earlier ones.
 * `data-at` is the number of the post being read; `data-page` on a post is the URL of the page it was loaded with.
 */
class Stream extends HTMLElement {
  readonly #loads = { prev: 0, next: 0 };
  #gone: AbortController | undefined;
  #loading: Promise<void> | undefined;
  #writing: ReturnType<typeof setTimeout> | undefined;
  /** Whether the reader is scrolling, as opposed to the browser going to the target of the URL. */
  #reads = false;
  #before = scrollY;
  /** Whether the reader asked for the posts being loaded. */
  #asked = false;
  /** Loaded posts that are held back, because inserting them would have moved what the reader sees or is doing. */
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

  /**
   * Loads posts that the reader is approaching. Nothing is inserted automatically between the posts and something
   * visible above them.
   */
  #look(way: Way): void {
    const link = linkIn(document, way);
    if (!link || this.#loading || this.#rests(way) || (way === 'next' && isUsedBelow(link))) return;
    const away = topOf(link);
    if (way === 'next' ? away < innerHeight + NEAR : away < 0 && away > -NEAR) void this.#load(way);
  }

  #rests(way: Way): boolean {
    return this.#loads[way] >= BY_THEMSELVES || this.#full;
  }
  /** Whether links lead to other pages instead of loading posts. */
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

  /** Loads one part at a time. If it fails, the browser follows the link to the page that could not be fetched. */
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

  /**
   * Fetches the posts at a URL and those that follow, up to post `until`: a page of long posts comes in several parts.
   */
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
    // Insert a new link row rather than moving the old one, which would visibly jump.
    if (list.nextElementSibling?.classList.contains('stream-more')) list.nextElementSibling.remove();
    list.after(row);
  }

  /** Announces the reading position, and writes it to the address. */
  #follow(): void {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    const post = readPost();
    if (!post) return;
    this.#publish(post);
    if (!this.#reads) return;
    const address = `${post.dataset['page']}${numberOf(post) > 1 ? `#${post.id}` : ''}`;
    const place: Place = { post: post.id, top: topOf(post) };
    // The browser would restore a pixel offset, but the page has other posts by then.
    history.scrollRestoration = 'manual';
    history.replaceState({ ...(history.state as object | null), stream: place }, '', address);
  }

  /** Publishes the post being read in `data-at`; it is the last one if the end of the discussion is in view. */
  #publish(post: HTMLElement): void {
    const last = postsIn(document).at(-1)!;
    const end = !linkIn(document, 'next') && last.getBoundingClientRect().bottom <= innerHeight;
    this.dataset['at'] = String(numberOf(end ? last : post));
    document.dispatchEvent(new CustomEvent('discussions:at'));
  }

  /** Goes to a post. If it is far away, the posts around it replace those shown. */
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

  /** Returns to the earlier position on this page, which now has only the posts of its URL. */
  async #return(place: Place | undefined): Promise<void> {
    const post = place && document.getElementById(place.post);
    if (post) {
      // Marks the post as returned to, rather than linked to.
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
