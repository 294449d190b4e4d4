import { announce, api, define, toast, togglePopover } from '@forum/client';

interface Toggled {
  readonly action: 'added' | 'removed';
  readonly reactions: readonly { readonly reaction: string; readonly count: number; readonly reacted: boolean }[];
}

/** The id of the post a bar belongs to: its link leads to /p/{id}/reactions. */
const postOf = (bar: HTMLElement): string => bar.querySelector('a')!.pathname.split('/')[2]!;
/** The bar of a post, which is another element once the post was updated. */
const barOf = (post: string): HTMLElement | null | undefined =>
  document.querySelector(`div.reactions > a[href$="${post}/reactions"]`)?.parentElement;
/** Keeps a bar as it is while it is changed here, even if the post is updated meanwhile. */
const hold = (bar: Element | undefined, held: boolean): unknown => bar?.toggleAttribute('data-held', held);

/**
 * The form for all reactions on the page, submitted without leaving it; the buttons of a post are updated from the
 * server's counts.
 */
class Reactions extends HTMLElement {
  readonly #form = this.querySelector('form')!;
  readonly #picker = this.querySelector<HTMLElement>('[popover]')!;
  readonly #who = this.querySelector<HTMLAnchorElement>('.reaction-who')!;
  /** The bar of the post for which the picker is open. */
  #bar: HTMLElement | undefined;
  /** Serializes requests: each one is sent after the previous response. */
  #sending = Promise.resolve();

  connectedCallback(): void {
    this.#form.addEventListener('submit', (event) => {
      const chosen = event.submitter as HTMLButtonElement | null;
      const bar = chosen?.closest<HTMLElement>('.reactions') ?? this.#bar;
      if (!chosen?.value || !bar) return;
      event.preventDefault();
      // Does nothing if it is not open.
      this.#picker.hidePopover();
      const post = postOf(bar);
      this.#sending = this.#sending.then(() => this.#toggle(post, chosen.value));
    });
    document.addEventListener('click', (event) => {
      const link = (event.target as Element).closest<HTMLAnchorElement>('div.reactions > a');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      hold(this.#bar, false);
      this.#bar = link.parentElement!;
      this.#who.href = link.href;
      this.#who.hidden = !this.#bar.querySelector('.reaction');
      togglePopover(this.#picker, link, event);
    });
    this.#picker.addEventListener('beforetoggle', ({ newState }) => hold(this.#bar, newState === 'open'));
  }

  async #toggle(post: string, reaction: string): Promise<void> {
    const bar = barOf(post);
    if (!bar) return;
    hold(bar, true);
    try {
      const { reactions } = await api<Toggled>('/api/reactions/toggle', { post_id: post, reaction });
      this.#show(bar, reactions);
      const count = reactions.find((one) => one.reaction === reaction)?.count ?? 0;
      announce(`${this.#choice(reaction)?.title ?? reaction} ${count}`);
    } catch (error) {
      toast((error as Error).message);
    } finally {
      hold(bar, false);
    }
  }

  #show(bar: HTMLElement, reactions: Toggled['reactions']): void {
    const opener = bar.querySelector('a');
    let next: Element | null = opener;
    const before = new Map(
      [...bar.querySelectorAll<HTMLButtonElement>('.reaction')].map((button) => [button.value, button]),
    );
    for (const { reaction, count, reacted } of reactions.toReversed()) {
      const button = before.get(reaction) ?? this.#made(bar, reaction);
      before.delete(reaction);
      button.ariaPressed = String(reacted);
      button.querySelector('.reaction-count')!.textContent = count.toLocaleString(document.documentElement.lang);
      // Moving a focused button would make it lose the focus.
      if (!button.isConnected) next?.before(button);
      next = button;
    }
    for (const gone of before.values()) {
      if (gone === document.activeElement) opener?.focus();
      gone.remove();
    }
  }

  #choice(reaction: string): HTMLButtonElement | undefined {
    return [...this.querySelectorAll<HTMLButtonElement>('.reaction-choice')].find(({ value }) => value === reaction);
  }

  #made(bar: HTMLElement, reaction: string): HTMLButtonElement {
    const choice = this.#choice(reaction);
    const button = document.createElement('button');
    const [label, count] = [document.createElement('span'), document.createElement('span')];
    const sign = choice?.firstElementChild?.cloneNode(true) ?? reaction;
    Object.assign(button, {
      className: 'reaction',
      name: 'reaction',
      value: reaction,
      title: choice?.title ?? reaction,
    });
    button.setAttribute('form', this.#form.id);
    button.setAttribute('formaction', `/p/${postOf(bar)}/react`);
    Object.assign(label, { className: 'hidden', textContent: choice?.title ?? reaction });
    count.className = 'reaction-count';
    button.append(sign, label, ' ', count);
    return button;
  }
}
define('x-reactions', Reactions);
