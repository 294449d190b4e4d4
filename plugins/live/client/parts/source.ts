/** Name of the lock and of the channel shared by all tabs of this site. */
const NAME = 'parley:live';
/** Initial and maximum delay, in milliseconds, before a rejected stream is retried. */
const MIN_RETRY_DELAY = 5_000;
const MAX_RETRY_DELAY = 300_000;

type Listener = (name: string, detail: unknown) => void;
interface StreamMessage {
  readonly name: string;
  readonly detail?: unknown;
  readonly id?: string;
}

/**
 * One stream for all tabs of a browser: the tab that holds the lock opens it and broadcasts each message to the others.
 * The messages `open` and `down` report the state of the stream.
 */
export class Source {
  readonly #names: readonly string[];
  readonly #query: string;
  readonly #onMessage: Listener;
  #running: AbortController | undefined;
  /** The position of the last event, from which whichever tab opens the next stream resumes. */
  #last = '';

  /** `query`: the parameters that describe this page to the server. */
  constructor(names: readonly string[], query: string, onMessage: Listener) {
    this.#query = query;
    this.#names = [...names, 'reset'];
    this.#onMessage = onMessage;
  }

  start(): void {
    if (this.#running) return;
    const { signal } = (this.#running = new AbortController());
    const channel = new BroadcastChannel(NAME);
    signal.addEventListener('abort', () => channel.close());
    channel.addEventListener('message', ({ data }: MessageEvent<StreamMessage>) => this.#deliver(data));
    // The lock is held until this tab stops; the next tab in line then opens its own stream.
    const lead = (): Promise<void> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        this.#open(channel, signal, MIN_RETRY_DELAY);
      });
    // Browsers offer no locks over plain http; there each tab has its own stream.
    if (navigator.locks as LockManager | undefined)
      navigator.locks.request(NAME, { signal }, lead).catch(() => undefined);
    else void lead();
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  #deliver({ name, detail, id }: StreamMessage): void {
    if (id) this.#last = id;
    this.#onMessage(name, detail);
  }

  #open(channel: BroadcastChannel, signal: AbortSignal, wait: number): void {
    if (signal.aborted) return;
    let delay = wait;
    const stream = new EventSource(`/api/live?${this.#query}${this.#last && `&after=${this.#last}`}`);
    const close = (): void => stream.close();
    const publish = (message: StreamMessage): void => {
      channel.postMessage(message);
      this.#deliver(message);
    };
    signal.addEventListener('abort', close);
    stream.addEventListener('open', () => {
      delay = MIN_RETRY_DELAY;
      publish({ name: 'open' });
    });
    // The browser reconnects after a broken connection, but not after an error response.
    stream.addEventListener('error', () => {
      if (signal.aborted) return;
      publish({ name: 'down' });
      if (stream.readyState !== EventSource.CLOSED) return;
      signal.removeEventListener('abort', close);
      setTimeout(
        () => this.#open(channel, signal, Math.min(delay * 2, MAX_RETRY_DELAY)),
        delay * (0.5 + Math.random()),
      );
    });
    for (const name of this.#names) {
      stream.addEventListener(name, ({ data, lastEventId: id }: MessageEvent<string>) =>
        publish({ name, detail: JSON.parse(data), id }),
      );
    }
  }
}
