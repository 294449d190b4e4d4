/** Names the lock and the channel of all tabs of this site. */
const NAME = 'parley:live';
/** Milliseconds before a stream that was refused is tried again, and the most it grows to. */
const MIN_RETRY_DELAY = 5_000;
const MAX_RETRY_DELAY = 300_000;
/** Milliseconds without a stream after which a page is to ask by itself, and the most they grow to. */
const MIN_POLL_DELAY = 60_000;
const MAX_POLL_DELAY = 300_000;

type Listener = (name: string, detail: unknown) => void;
interface StreamMessage {
  readonly name: string;
  readonly detail: unknown;
  readonly id: string;
}

/**
 * One stream for all tabs of a browser: the tab that holds the lock has it open and broadcasts each message to the
 * others. While none can be opened, the message `poll` says when to ask.
 */
export class Source {
  readonly #names: readonly string[];
  readonly #about: Readonly<Record<string, string>>;
  readonly #onMessage: Listener;
  #running: AbortController | undefined;
  #polling: ReturnType<typeof setTimeout> | undefined;
  /** The last event's position, from which any tab that opens the next stream resumes. */
  #last = '';

  /** `about`: what the server is told of this page. */
  constructor(names: readonly string[], about: Readonly<Record<string, string>>, onMessage: Listener) {
    this.#names = [...names, 'reset'];
    this.#about = about;
    this.#onMessage = onMessage;
  }

  start(): void {
    if (this.#running) return;
    const { signal } = (this.#running = new AbortController());
    const channel = new BroadcastChannel(NAME);
    signal.addEventListener('abort', () => channel.close());
    channel.addEventListener('message', ({ data }: MessageEvent<StreamMessage>) => this.#deliver(data));
    // The lock is held until this tab stops; the next one in line then opens its own stream.
    const lead = (): Promise<void> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          clearTimeout(this.#polling);
          resolve();
        });
        this.#poll(channel, MIN_POLL_DELAY);
        this.#open(channel, signal, MIN_RETRY_DELAY);
      });
    // Over plain http browsers have no locks: then each tab has a stream of its own.
    if (navigator.locks as LockManager | undefined)
      navigator.locks.request(NAME, { signal }, lead).catch(() => undefined);
    else void lead();
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  #poll(channel: BroadcastChannel, delay: number): void {
    clearTimeout(this.#polling);
    this.#polling = setTimeout(() => {
      this.#send(channel, { name: 'poll', detail: undefined, id: '' });
      this.#poll(channel, Math.min(delay * 2, MAX_POLL_DELAY));
    }, delay);
  }

  #send(channel: BroadcastChannel, message: StreamMessage): void {
    channel.postMessage(message);
    this.#deliver(message);
  }

  #deliver({ name, detail, id }: StreamMessage): void {
    if (id) this.#last = id;
    this.#onMessage(name, detail);
  }

  #open(channel: BroadcastChannel, signal: AbortSignal, wait: number): void {
    if (signal.aborted) return;
    let delay = wait;
    const query = new URLSearchParams(this.#about);
    if (this.#last) query.set('after', this.#last);
    const stream = new EventSource(`/api/live?${query}`);
    const close = (): void => stream.close();
    signal.addEventListener('abort', close);
    let isOpen = false;
    stream.addEventListener('open', () => {
      delay = MIN_RETRY_DELAY;
      isOpen = true;
      clearTimeout(this.#polling);
    });
    // The browser reconnects after a broken connection, but not after an error response.
    stream.addEventListener('error', () => {
      if (isOpen && !signal.aborted) this.#poll(channel, MIN_POLL_DELAY);
      isOpen = false;
      if (stream.readyState !== EventSource.CLOSED || signal.aborted) return;
      signal.removeEventListener('abort', close);
      setTimeout(
        () => this.#open(channel, signal, Math.min(delay * 2, MAX_RETRY_DELAY)),
        delay * (0.5 + Math.random()),
      );
    });
    for (const name of this.#names) {
      stream.addEventListener(name, ({ data, lastEventId: id }: MessageEvent<string>) => {
        this.#send(channel, { name, detail: JSON.parse(data) as unknown, id });
      });
    }
  }
}
