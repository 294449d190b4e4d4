import { define, request, toFragment } from '@forum/client';

/** Milliseconds the pointer must rest on a name before its card is shown, and be away before it is hidden. */
const REST = 450;
const AWAY = 250;
/** Pixels between a name and its card. */
const GAP = 6;
const LINK = "main a[href^='/u/']";
/** Links that a tap opens the card of. */
const TAPPED = ".post a[href^='/u/']";
const CARD = /^\/u\/[^/]+$/;

/**
 * One card for all members' names and pictures on the page, fetched when the pointer or the focus is on one, or when
 * one in a post is tapped.
 */
class MemberCard extends HTMLElement {
  readonly #card = Object.assign(document.createElement('div'), { className: 'menu member-card', popover: 'manual' });
  readonly #known = new Map<string, Promise<string>>();
  #gone: AbortController | undefined;
  #link: HTMLAnchorElement | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  /** Whether the card was opened by a tap, so that it stays until another one. */
  #tapped = false;

  connectedCallback(): void {
    this.#card.role = 'dialog';
    this.#card.tabIndex = -1;
    this.append(this.#card);
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    document.addEventListener('click', (event) => this.#press(event), { signal });
    document.addEventListener('pointerdown', (event) => this.#leave(event.target), { signal });
    // A touch does not hover.
    document.addEventListener('pointerover', (event) => event.pointerType !== 'touch' && this.#over(event.target), {
      signal,
    });
    document.addEventListener('focusin', (event) => this.#over(event.target, true), { signal });
    document.addEventListener('keydown', (event) => this.#escape(event), { signal });
    addEventListener('scroll', () => void (this.#card.matches(':popover-open') && this.#hide()), {
      signal,
      passive: true,
    });
    // Hovering or focusing one of these links may have triggered the loading of this module.
    const pointed = matchMedia('(hover: hover)').matches ? document.querySelector(`${LINK}:hover`) : null;
    this.#over(pointed ?? document.activeElement, !pointed);
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    clearTimeout(this.#waiting);
  }

  #over(target: EventTarget | null, focused = false): void {
    const element = target instanceof Element ? target : null;
    if (element && this.#card.contains(element)) return clearTimeout(this.#waiting);
    const link = element?.closest<HTMLAnchorElement>(LINK) ?? undefined;
    if (link === this.#link && link) return clearTimeout(this.#waiting);
    clearTimeout(this.#waiting);
    if (!link || !CARD.test(link.pathname) || (focused && !link.matches(':focus-visible'))) {
      if (this.#link) this.#waiting = setTimeout(() => this.#hide(), AWAY);
      return;
    }
    this.#waiting = setTimeout(() => void this.#show(link), REST);
  }

  /** A tap opens the card of a name in a post; another one on the same name follows its link. */
  #press(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>(TAPPED);
    if (!link || !CARD.test(link.pathname) || !isTap(event)) return;
    if (link === this.#link && this.#card.matches(':popover-open')) return;
    event.preventDefault();
    clearTimeout(this.#waiting);
    void this.#show(link).then((shown) => {
      if (!shown) return location.assign(link.href);
      this.#tapped = true;
      this.#card.focus({ preventScroll: true });
    });
  }

  /** A tap beside a card closes it. */
  #leave(target: EventTarget | null): void {
    if (!this.#tapped || (target instanceof Node && (this.#card.contains(target) || this.#link?.contains(target))))
      return;
    this.#hide(true);
    this.#link = undefined;
  }

  /** Resolves to false if the card could not be fetched. */
  async #show(link: HTMLAnchorElement): Promise<boolean> {
    this.#link = link;
    const html = await this.#fetch(`${link.pathname}/card`).catch(() => undefined);
    if (html === undefined) return false;
    if (this.#link !== link || !link.isConnected) return true;
    this.#card.replaceChildren(toFragment(html));
    this.#staysHere(link);
    // A picture is hidden from screen readers, unlike the name on its card.
    const name = link.ariaHidden === 'true' ? this.#card.querySelector('h2 a') : null;
    this.#card.ariaLabel = (name ?? link).textContent;
    this.#card.showPopover({ source: link });
    const { left, right, top, bottom } = link.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#card;
    const start = getComputedStyle(link).direction === 'rtl' ? right - width : left;
    const below = bottom + GAP + height <= innerHeight || top < height;
    Object.assign(this.#card.style, {
      left: `${Math.max(GAP, Math.min(start, innerWidth - width - GAP))}px`,
      top: `${below ? bottom + GAP : top - GAP - height}px`,
    });
    return true;
  }

  /** Forms on the card redirect back to where it was shown. */
  #staysHere(link: HTMLAnchorElement): void {
    const place = link.closest('article[id]')?.id;
    const here = location.pathname + location.search + (place ? `#${place}` : '');
    for (const field of this.#card.querySelectorAll<HTMLInputElement>('[name=return_to]')) field.value = here;
  }

  #fetch(path: string): Promise<string> {
    const known = this.#known.get(path);
    if (known) return known;
    const card = request(path, { headers: { Accept: 'application/json' } }).then(async (answer) => {
      if (!answer.ok) throw new Error(String(answer.status));
      return ((await answer.json()) as { readonly html: string }).html;
    });
    card.catch(() => this.#known.delete(path));
    this.#known.set(path, card);
    return card;
  }

  #escape(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.#card.matches(':popover-open')) return;
    if (this.#card.contains(document.activeElement)) this.#link?.focus();
    this.#hide(true);
    event.preventDefault();
  }

  /** `keep`: do not show the card for the same name again until another one was pointed at. */
  #hide(keep = false): void {
    clearTimeout(this.#waiting);
    if (this.#card.contains(document.activeElement) && !keep) return;
    if (!keep) this.#link = undefined;
    this.#tapped = false;
    if (this.#card.matches(':popover-open')) this.#card.hidePopover();
  }
}
/**
 * Whether a click comes from a finger. A click that was held back until this module was loaded does not say what it
 * came from.
 */
function isTap(event: MouseEvent): boolean {
  if (event.detail === 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return false;
  const { pointerType } = event as Partial<PointerEvent>;
  return pointerType ? pointerType === 'touch' : matchMedia('(hover: none)').matches;
}

define('x-member-card', MemberCard);
