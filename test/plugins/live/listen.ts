import { expect, vi } from 'vitest';
import type { Client, TestForum } from 'parley-forum/testing';

interface Heard {
  /** `message` if the stream names none. */
  readonly event: string;
  readonly id: string | undefined;
  readonly data: any;
}

/** An open stream as read by a client. */
export interface Listener extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  /** Events, which have a position in the log. */
  readonly heard: readonly Heard[];
  /** Signals, which have no position in the log. */
  readonly signals: readonly Heard[];
  /** The position after which a new stream would resume. */
  readonly last: string;
  /** The last `retry:`. */
  readonly retry: number | undefined;
  /** The number of heartbeats received. */
  readonly beats: number;
  /** True once the server has ended it. */
  readonly ended: boolean;
  names(): readonly string[];
  /** Waits until at least this many events were received. */
  until(count: number): Promise<void>;
  close(): void;
}

/** Opens GET /api/live as this client. */
export async function listen(
  { url }: TestForum,
  client: Client | undefined,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<Listener> {
  const gone = new AbortController();
  const cookie = [...(client?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(`${url}/api/live${query}`, {
    signal: gone.signal,
    headers: { ...(cookie && { cookie }), ...headers },
  });
  const state = {
    heard: [] as Heard[],
    signals: [] as Heard[],
    last: '',
    retry: undefined as number | undefined,
    beats: 0,
    ended: false,
  };
  const take = (block: string): void => {
    const fields = new Map(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
    if (fields.has('')) state.beats++;
    if (fields.has('retry')) state.retry = Number(fields.get('retry'));
    state.last = fields.get('id') ?? state.last;
    const data = fields.get('data');
    if (data === undefined) return;
    const heard = { event: fields.get('event') ?? 'message', id: fields.get('id'), data: JSON.parse(data) as unknown };
    (heard.id === undefined ? state.signals : state.heard).push(heard);
  };
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop()!;
      blocks.forEach(take);
    }
  };
  if (response.status === 200)
    void read().then(
      () => (state.ended = true),
      () => (state.ended = true),
    );
  return Object.assign(Object.create(state) as typeof state, {
    status: response.status,
    headers: response.headers,
    names: () => state.heard.map(({ event }) => event),
    until: (count: number) =>
      vi.waitFor(() => expect(state.heard.length).toBeGreaterThanOrEqual(count), { timeout: 10_000, interval: 10 }),
    close: () => gone.abort(),
    [Symbol.asyncDispose]: async () => gone.abort(),
  });
}
