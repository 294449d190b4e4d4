import { define, loadElement, request, toast, toFragment, togglePopover } from '@forum/client';
import { dock } from './parts/dock.ts';
import { postsChanged } from './parts/posts.ts';
import type { PostChanges } from './x-changes.ts';

/** Live events about posts and their discussion, or about what is shown with them. */
const CHANGES =
  'post.created post.updated post.deleted post.looks-changed posts.moved discussion.updated discussion.deleted'.split(
    ' ',
  );

/**
 * The posts of a discussion, kept up to date. The actions for a post are fetched into one menu that all posts share.
 */
class Posts extends HTMLElement {
  readonly #menu = Object.assign(document.createElement('div'), { className: 'menu', popover: 'auto' });
  readonly #items = new Map<string, Promise<string>>();
  #opener: Element | undefined;
  #gone: AbortController | undefined;
  #changes: PostChanges | undefined;

  readonly #selects = (): void => {
    if (document.getSelection()?.isCollapsed !== false || !document.querySelector('x-quote')) return;
    document.removeEventListener('selectionchange', this.#selects);
    void loadElement('x-quote').catch(() => undefined);
  };

  connectedCallback(): void {
    // Next to the posts, because their container may contain only posts.
    this.parentElement?.append(this.#menu);
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    const changed = (event: Event): void =>
      void this.#keep()
        .then((changes) => changes.heard(event))
        .catch(postsChanged);
    const edited = ({ detail }: CustomEvent<string>): void =>
      void this.#keep()
        .then((changes) => changes.changedHere(detail))
        .catch(() => location.reload());
    for (const name of CHANGES) document.addEventListener(`parley:${name}`, changed, { signal });
    document.addEventListener('discussions:edited', (event) => edited(event as CustomEvent<string>), { signal });
    document.addEventListener('selectionchange', this.#selects, { signal });
    // Prefetch, so that the items are already on their way when the click arrives.
    this.addEventListener('pointerdown', (event) => this.#prefetch(event));
    this.addEventListener('focusin', (event) => this.#prefetch(event));
    const pressed = (event: MouseEvent): void => this.#press(event);
    this.addEventListener('click', pressed);
    this.#menu.addEventListener('click', pressed, { signal });
    // The module of `x-dock` is loaded when the user points at it, and a click may come before that.
    document.querySelector<HTMLElement>('x-dock')?.addEventListener('click', pressed, { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#menu.remove();
  }

  /** The element that updates the posts is loaded with the first change. */
  async #keep(): Promise<PostChanges> {
    await loadElement('x-changes');
    if (!this.#changes) {
      this.#changes = document.createElement('x-changes') as PostChanges;
      this.#changes.hasMenu = (part) => this.#menu.matches(':popover-open') && part.contains(this.#opener ?? null);
      this.append(this.#changes);
    }
    return this.#changes;
  }

  #press(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = menuLink(event);
    const writes = (event.target as Element).closest<HTMLAnchorElement>(
      'a[href*="/reply?"], a[href^="/p/"][href$="/edit"], .dock a',
    );
    if (link) void this.#open(link, event);
    else if (!writes || !dock(writes)) return;
    else if (this.#menu.contains(writes)) this.#menu.hidePopover();
    event.preventDefault();
  }

  #prefetch(event: Event): void {
    const link = menuLink(event);
    if (link) void this.#fetch(link.href).catch(() => undefined);
  }

  #fetch(href: string): Promise<string> {
    const known = this.#items.get(href);
    if (known) return known;
    const items = request(href, { headers: { Accept: 'application/json' } }).then(async (response) => {
      const answer = (await response.json()) as { readonly html?: string; readonly error?: string };
      if (answer.html === undefined) throw new Error(answer.error);
      return answer.html;
    });
    items.catch(() => this.#items.delete(href));
    this.#items.set(href, items);
    return items;
  }

  async #open(link: HTMLAnchorElement, event: MouseEvent): Promise<void> {
    try {
      const items = await this.#fetch(link.href);
      // Fetched again next time, because the available actions may have changed by then.
      this.#items.delete(link.href);
      this.#menu.replaceChildren(toFragment(items));
      this.#opener = link;
      togglePopover(this.#menu, link, event);
    } catch (error) {
      toast((error as Error).message);
    }
  }
}

const menuLink = ({ target }: Event): HTMLAnchorElement | null =>
  (target as Element).closest<HTMLAnchorElement>('a[data-menu]');

define('x-posts', Posts);
