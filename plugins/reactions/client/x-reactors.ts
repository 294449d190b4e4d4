import { define, fragment, togglePopover } from '@forum/client';

/** Milliseconds the pointer must rest on a reaction before its list opens, and be away before it closes. */
const REST = 450;
const AWAY = 250;
/** Links to the page of who reacted. */
const LINK = 'a.reaction, .reaction-who';

/** Shows who reacted to a post next to its reactions instead of on a separate page. */
class Reactors extends HTMLElement {
  readonly #list = Object.assign(document.createElement('div'), { className: 'menu reactors', popover: 'auto' });
  #gone: AbortController | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  /** The reaction the pointer rests on; its list closes when the pointer leaves. */
  #pointed: Element | undefined;

  connectedCallback(): void {
    this.#list.role = 'dialog';
    document.body.append(this.#list);
    const { signal } = (this.#gone = new AbortController());
    document.addEventListener('click', (event) => this.#press(event), { signal });
    // A touch does not hover: a tap activates what it hits.
    const over = ({ pointerType, target }: PointerEvent): void => {
      if (pointerType !== 'touch' && target instanceof Element) this.#over(target);
    };
    document.addEventListener('pointerover', over, { signal });
    const pointed = matchMedia('(hover: hover)').matches ? document.querySelector('.reaction:hover') : null;
    if (pointed) this.#over(pointed);
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    clearTimeout(this.#waiting);
    this.#list.remove();
  }

  #press(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>(LINK);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.#pointed = undefined;
    // The link may be in the reaction picker, which closes in favour of the list.
    const opener = link.matches('.reaction') ? link : openerOf(link.pathname);
    if (opener !== link) opener?.focus({ preventScroll: true });
    this.#fill(link.pathname).then(
      () => togglePopover(this.#list, opener ?? link, event),
      () => location.assign(link.href),
    );
  }

  #over(target: Element): void {
    clearTimeout(this.#waiting);
    if (this.#list.contains(target)) return;
    const reaction = target.closest('.reaction') ?? undefined;
    const open = this.#list.matches(':popover-open');
    if (!reaction) {
      if (open && this.#pointed) this.#waiting = setTimeout(() => this.#hide(), AWAY);
    } else if (!open || (this.#pointed && this.#pointed !== reaction)) {
      this.#waiting = setTimeout(() => void this.#show(reaction).catch(() => undefined), REST);
    }
  }

  async #show(reaction: Element): Promise<void> {
    const path = reaction.closest('.reactions')?.querySelector('a')?.pathname;
    if (path === undefined) return;
    await this.#fill(path);
    // A list opened by hovering never replaces another popover.
    if (!reaction.matches(':hover') || document.querySelector(':popover-open:not(.reactors)')) return;
    this.#pointed = reaction;
    this.#list.hidePopover();
    this.#list.showPopover({ source: reaction as HTMLElement });
  }

  #hide(): void {
    if (!this.#list.contains(document.activeElement)) this.#list.hidePopover();
  }

  async #fill(path: string): Promise<void> {
    const page = await fragment(path);
    const kinds = [...page.querySelectorAll('section.panel')];
    if (kinds.length === 0) throw new Error(path);
    this.#list.ariaLabel = page.querySelector('h1')?.textContent.trim() ?? '';
    this.#list.replaceChildren(...kinds);
  }
}

/** The link that opens the reaction picker of the post whose reactions page has this path. */
const openerOf = (path: string): HTMLElement | undefined =>
  [...document.querySelectorAll<HTMLAnchorElement>('div.reactions > a')].find(({ pathname }) => pathname === path);
define('x-reactors', Reactors);
