import { announce, define, fragment } from '@forum/client';
import { editMessage } from './parts/editing.ts';
import { messageOf, numberOf, showInstead } from './parts/messages.ts';

interface ChangedMessage {
  readonly conversation_id?: string;
  readonly number?: number;
  readonly is_new?: boolean;
}

/** Keeps the messages of a conversation up to date. If its end is shown, new messages are appended automatically. */
class Conversation extends HTMLElement {
  #gone: AbortController | undefined;
  /** Number of the newest message that the page knows of. */
  #newest = 0;
  /** Numbers of messages that were edited or removed. */
  readonly #changed = new Set<number>();
  #bringing = false;

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    document.addEventListener('parley:messages', (event) => this.#hear((event as CustomEvent<ChangedMessage>).detail), {
      signal,
    });
    // Events that arrived while the page was suspended are not repeated. Messages are only fetched while the page is
    // visible, because fetching marks them as read.
    document.addEventListener('parley:reset', () => this.#missed(), { signal });
    document.addEventListener('visibilitychange', () => this.#bring(), { signal });
    addEventListener('pageshow', ({ persisted }) => persisted && this.#missed(), { signal });
    this.addEventListener('click', (event) => this.#press(event), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  get #messages(): readonly HTMLElement[] {
    return [...this.querySelectorAll<HTMLElement>(':scope > .post')];
  }
  get #last(): number {
    const last = this.#messages.at(-1);
    return last ? numberOf(last) : Number(this.dataset['last']);
  }
  /** Whether the end of the conversation is shown, so that new messages belong after it. */
  get #isEnd(): boolean {
    return !this.dataset['more'];
  }

  #hear({ conversation_id: id, number = 0, is_new: isNew }: ChangedMessage): void {
    if (id !== this.dataset['conversation']) return;
    if (isNew) this.#newest = Math.max(this.#newest, number);
    else if (messageOf(number)) this.#changed.add(number);
    this.#bring();
  }

  #missed(): void {
    for (const message of this.#messages) this.#changed.add(numberOf(message));
    // Assume that there is at least one new message.
    this.#newest = Math.max(this.#newest, this.#last + 1);
    this.#bring();
  }

  /** Fetches changed and new messages, one request at a time, until all are there. */
  #bring(): void {
    const isBehind = this.#isEnd && this.#newest > this.#last;
    if (this.#bringing || document.hidden || !(isBehind || this.#changed.size > 0)) return;
    this.#bringing = true;
    (this.#changed.size > 0 ? this.#refresh() : this.#append()).then(
      (came) => {
        this.#bringing = false;
        if (came) this.#bring();
      },
      // They are fetched with the next message that arrives, or on the next visit.
      () => (this.#bringing = false),
    );
  }

  /** Updates the changed messages, as far as they fit on one page. */
  async #refresh(): Promise<boolean> {
    const [from, to] = [Math.min(...this.#changed), Math.max(...this.#changed)];
    const part = await fragment(`${this.dataset['path']}?after=${from - 1}&before=${to + 1}`);
    const found = [...part.querySelectorAll<HTMLElement>('x-conversation > .post')];
    const end = found.length > 0 ? numberOf(found.at(-1)!) : to;
    for (const number of this.#changed) if (number <= end) this.#changed.delete(number);
    for (const now of found) {
      const before = messageOf(numberOf(now));
      if (before) showInstead(before, now);
    }
    return true;
  }

  /** True if there were new messages. */
  async #append(): Promise<boolean> {
    const last = this.#last;
    const part = await fragment(`${this.dataset['path']}?after=${last}`);
    // Some may have been added to the page in another way.
    const fresh = [...part.querySelectorAll<HTMLElement>('x-conversation > .post')].filter(
      ({ id }) => !document.getElementById(id),
    );
    const focused = document.activeElement ?? document.body;
    const before = focused.getBoundingClientRect().top;
    this.append(...fresh);
    // Keeps the position of a user who is writing below.
    if (focused !== document.body) scrollBy({ top: focused.getBoundingClientRect().top - before, behavior: 'instant' });
    if (fresh.length === 0) this.#newest = this.#last;
    else announce((this.dataset['text'] ?? '').replace('{count}', String(fresh.length)));
    return fresh.length > 0;
  }

  #press(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[data-edit]');
    if (!link) return;
    event.preventDefault();
    const saved = (message: HTMLElement): void => {
      this.#changed.add(numberOf(message));
      this.#bring();
    };
    editMessage(link, saved).catch(() => location.assign(link.href));
  }
}
define('x-conversation', Conversation);
