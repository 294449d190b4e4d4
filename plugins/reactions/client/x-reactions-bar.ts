import { announce, api, define, toast } from '@forum/client';

interface Toggled {
  readonly action: 'added' | 'removed';
  readonly reactions: readonly { readonly reaction: string; readonly count: number; readonly reacted: boolean }[];
}

/** The form below a post, sent without leaving the page; the buttons follow what the server counted. */
class ReactionsBar extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('submit', (event) => {
      const chosen = (event as SubmitEvent).submitter as HTMLButtonElement | null;
      if (!chosen?.value) return;
      event.preventDefault();
      this.querySelector<HTMLElement>('[popover]:popover-open')?.hidePopover();
      void this.#toggle(chosen.value);
    });
  }

  async #toggle(reaction: string): Promise<void> {
    try {
      const { reactions } = await api<Toggled>('/api/reactions/toggle', { post_id: this.dataset['post'], reaction });
      this.#show(reactions);
      const count = reactions.find((one) => one.reaction === reaction)?.count ?? 0;
      announce(`${this.#choice(reaction)?.title ?? reaction} ${count}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  #show(reactions: Toggled['reactions']): void {
    const menu = this.querySelector('[popovertarget]');
    const before = new Map(
      [...this.querySelectorAll<HTMLButtonElement>('.reaction')].map((button) => [button.value, button]),
    );
    for (const { reaction, count, reacted } of reactions) {
      const button = before.get(reaction) ?? this.#made(reaction);
      before.delete(reaction);
      button.ariaPressed = String(reacted);
      button.querySelector('.reaction-count')!.textContent = count.toLocaleString(document.documentElement.lang);
      // Moving a button would take the focus from it.
      if (!button.isConnected) menu?.before(button);
    }
    for (const gone of before.values()) {
      if (gone === document.activeElement) (menu as HTMLElement | null)?.focus();
      gone.remove();
    }
  }

  #choice(reaction: string): HTMLButtonElement | undefined {
    return [...this.querySelectorAll<HTMLButtonElement>('.reaction-choice')].find(({ value }) => value === reaction);
  }

  #made(reaction: string): HTMLButtonElement {
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
    Object.assign(label, { className: 'hidden', textContent: choice?.title ?? reaction });
    count.className = 'reaction-count';
    button.append(sign, label, ' ', count);
    return button;
  }
}
define('x-reactions-bar', ReactionsBar);
