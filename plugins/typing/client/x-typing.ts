import { api, define, send } from '@forum/client';

interface Typist {
  readonly id: string;
  readonly username: string;
  readonly display_name: string | null;
}
interface Signal {
  readonly discussion_id: string;
  readonly user: Typist;
  readonly typing: boolean;
}

/**
 * Milliseconds between two typing signals; after the last keystroke until writing counts as stopped; between two polls;
 * for which a signal is valid.
 */
const SEND_INTERVAL = 3_000;
const IDLE = 6_000;
const ASK = 5_000;
const HOLDS = 8_000;

/** Signals that the text of its form is being written, and shows who else is writing in the discussion. */
class TypingLine extends HTMLElement {
  readonly #others = new Map<string, { readonly name: string; readonly until: number }>();
  readonly #hear = (event: Event): void => this.#signal((event as CustomEvent<Signal>).detail);
  #sentAt = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #asking: ReturnType<typeof setInterval> | undefined;
  #fading: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    const form = this.closest('form');
    const area = form?.querySelector('textarea');
    area?.addEventListener('input', () => this.#write());
    area?.addEventListener('blur', () => this.#stop());
    form?.addEventListener('submit', () => this.#stop());
    document.addEventListener('parley:typing', this.#hear);
    // Pages with a live stream get signals and need not poll.
    if (!document.querySelector('x-live')) this.#asking = setInterval(() => void this.#ask(), ASK);
    void this.#ask();
  }

  disconnectedCallback(): void {
    document.removeEventListener('parley:typing', this.#hear);
    clearInterval(this.#asking);
    clearTimeout(this.#fading);
    this.#stop();
  }

  get #discussion(): string {
    return this.dataset['discussion'] ?? '';
  }

  #write(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#stop(), IDLE);
    if (Date.now() - this.#sentAt < SEND_INTERVAL) return;
    this.#sentAt = Date.now();
    this.#send('typing');
  }

  #stop(): void {
    clearTimeout(this.#idle);
    if (this.#sentAt === 0) return;
    this.#sentAt = 0;
    this.#send('stop');
  }

  /** A failed signal is made up for by the next one, or expires. */
  #send(what: 'typing' | 'stop'): void {
    send(`/api/typing-indicator/${what}`, { discussion_id: this.#discussion }).catch(() => undefined);
  }

  async #ask(): Promise<void> {
    if (document.hidden) return;
    try {
      const { typing } = await api<{ typing: readonly Typist[] }>(
        `/api/typing-indicator/status?discussion_id=${encodeURIComponent(this.#discussion)}`,
      );
      this.#others.clear();
      for (const one of typing) this.#add(one);
    } catch {
      // The typists shown so far will expire.
    }
    this.#show();
  }

  #signal({ discussion_id, user, typing }: Signal): void {
    if (discussion_id !== this.#discussion) return;
    if (typing) this.#add(user);
    else this.#others.delete(user.id);
    this.#show();
  }

  #add({ id, username, display_name: name }: Typist): void {
    this.#others.set(id, { name: name ?? username, until: Date.now() + HOLDS });
  }

  #show(): void {
    const writing = [...this.#others]
      .filter(([id, { until }]) => id !== document.body.dataset['viewer'] && until > Date.now())
      .map(([, { name }]) => name);
    const [first = '', second = ''] = writing;
    const text =
      writing.length === 0
        ? ''
        : (this.dataset[writing.length === 1 ? 'one' : writing.length === 2 ? 'two' : 'many'] ?? '');
    clearTimeout(this.#fading);
    if (text !== '') this.#fading = setTimeout(() => this.#show(), HOLDS + 50);
    this.textContent = text.replace('{first}', () => first).replace('{second}', () => second);
  }
}
define('x-typing', TypingLine);
