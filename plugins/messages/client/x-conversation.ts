import { announce, define, fragment } from '@forum/client';

interface NewMessage {
  readonly conversation_id?: string;
  readonly number?: number;
}

/** The messages of a conversation; where its end is shown, new ones come by themselves. */
class Conversation extends HTMLElement {
  #gone: AbortController | undefined;
  /** Number of the newest message that there is, as far as the page knows. */
  #newest = 0;
  #bringing = false;

  connectedCallback(): void {
    if (this.dataset['more']) return;
    const { signal } = (this.#gone = new AbortController());
    document.addEventListener('parley:messages', (event) => this.#hear((event as CustomEvent<NewMessage>).detail), {
      signal,
    });
    // What was sent while the page slept is not sent again; whoever does not look at it has not read it.
    for (const type of ['parley:reset', 'visibilitychange'])
      document.addEventListener(type, () => this.#bring(type === 'parley:reset'), { signal });
    addEventListener('pageshow', ({ persisted }) => this.#bring(persisted), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  get #last(): number {
    return Number(this.lastElementChild?.id.slice('message-'.length) ?? this.dataset['last']);
  }

  #hear({ conversation_id: id, number = 0 }: NewMessage): void {
    if (id !== this.dataset['conversation']) return;
    this.#newest = Math.max(this.#newest, number);
    this.#bring();
  }

  /** One after the other, until all are there. */
  #bring(anyway = false): void {
    if (this.#bringing || document.hidden || !(anyway || this.#newest > this.#last)) return;
    this.#bringing = true;
    this.#fetch().then(
      (came) => {
        this.#bringing = false;
        if (came) this.#bring();
      },
      // The next one that comes brings these along, or the next visit.
      () => (this.#bringing = false),
    );
  }

  /** True where some came. */
  async #fetch(): Promise<boolean> {
    const last = this.#last;
    const part = await fragment(`${this.dataset['path']}?after=${last}`);
    // What the page shows by now may have come otherwise.
    const fresh = [...part.querySelectorAll<HTMLElement>('x-conversation > .post')].filter(
      ({ id }) => !document.getElementById(id),
    );
    const focused = document.activeElement ?? document.body;
    const before = focused.getBoundingClientRect().top;
    this.append(...fresh);
    // Whoever writes below goes on where they are.
    if (focused !== document.body) scrollBy({ top: focused.getBoundingClientRect().top - before, behavior: 'instant' });
    if (fresh.length > 0) announce((this.dataset['text'] ?? '').replace('{count}', String(fresh.length)));
    return fresh.length > 0;
  }
}
define('x-conversation', Conversation);
