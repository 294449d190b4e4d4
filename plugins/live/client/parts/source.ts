/** Names the lock and the channel of all tabs of this site. */
const NAME = 'parley:live';
/** Milliseconds before a stream that was refused is tried again, and the most it grows to. */
const FIRST = 5_000;
const LAST = 300_000;

type Hear = (name: string, detail: unknown) => void;
interface Told {
  readonly name: string;
  readonly detail: unknown;
  readonly id: string;
}

/**
 * What happens, heard over one stream for all tabs of a browser: the tab that holds the lock has it open and passes on
 * what comes.
 */
export class Source {
  readonly #names: readonly string[];
  readonly #hear: Hear;
  #running: AbortController | undefined;
  /** Where the log was last, to go on from there whichever tab opens the next stream. */
  #last = '';

  constructor(names: readonly string[], hear: Hear) {
    this.#names = [...names, 'reset'];
    this.#hear = hear;
  }

  start(): void {
    if (this.#running) return;
    const { signal } = (this.#running = new AbortController());
    const channel = new BroadcastChannel(NAME);
    signal.addEventListener('abort', () => channel.close());
    channel.addEventListener('message', ({ data }: MessageEvent<Told>) => this.#pass(data));
    // The lock is held until this tab stops; the next one in line then opens its own stream.
    const lead = (): Promise<void> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        this.#open(channel, signal, FIRST);
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

  #pass({ name, detail, id }: Told): void {
    if (id) this.#last = id;
    this.#hear(name, detail);
  }

  #open(channel: BroadcastChannel, signal: AbortSignal, wait: number): void {
    if (signal.aborted) return;
    let patience = wait;
    const stream = new EventSource(`/api/live${this.#last && `?after=${this.#last}`}`);
    const close = (): void => stream.close();
    signal.addEventListener('abort', close);
    stream.addEventListener('open', () => (patience = FIRST));
    // A break is mended by the browser; a refusal is not.
    stream.addEventListener('error', () => {
      if (stream.readyState !== EventSource.CLOSED || signal.aborted) return;
      signal.removeEventListener('abort', close);
      setTimeout(() => this.#open(channel, signal, Math.min(patience * 2, LAST)), patience * (0.5 + Math.random()));
    });
    for (const name of this.#names) {
      stream.addEventListener(name, ({ data, lastEventId: id }: MessageEvent<string>) => {
        const told: Told = { name, detail: JSON.parse(data) as unknown, id };
        channel.postMessage(told);
        this.#pass(told);
      });
    }
  }
}
