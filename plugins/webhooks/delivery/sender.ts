import { once } from 'node:events';
import { request as plainRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { messageOf } from 'parley-forum';
import { Blocked, type Guard } from './url-guard.ts';

/** Milliseconds from looking up the name to the end of the answer. */
export const TIMEOUT = 15_000;
/** Bytes of an answer that are kept; the rest is not read. */
const KEPT = 65_536;

export interface Sending {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
/** What came of it: an answer with a status, or an error. */
export interface Sent {
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Its beginning. */
  readonly response: string | undefined;
  readonly retryAfter: string | undefined;
  readonly error: string | undefined;
  /** The guard let nothing out. */
  readonly blocked: boolean;
}

/** Posts to foreign addresses: no redirects, no kept connections, only where the guard lets it. */
export class Sender {
  readonly #guard: Guard;

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  /** Rejects only when `stop` aborts; then nobody knows whether it arrived. */
  async send(sending: Sending, stop: AbortSignal): Promise<Sent> {
    const start = performance.now();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), TIMEOUT);
    const took = (): number => Math.round(performance.now() - start);
    const nothing = { status: undefined, response: undefined, retryAfter: undefined, error: undefined, blocked: false };
    try {
      const response = await this.#post(sending, AbortSignal.any([stop, late.signal]));
      const beginning = await beginningOf(response);
      stop.throwIfAborted();
      return {
        ...nothing,
        status: response.statusCode ?? 0,
        durationMs: took(),
        response: beginning,
        retryAfter: response.headers['retry-after'],
      };
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof Blocked)
        return { ...nothing, durationMs: took(), error: `Not sent: the address ${error.message}`, blocked: true };
      return {
        ...nothing,
        durationMs: took(),
        error: late.signal.aborted ? `No answer within ${TIMEOUT / 1_000} s` : reasonOf(error),
      };
    } finally {
      clearTimeout(timer);
    }
  }

  async #post({ url, headers, body }: Sending, signal: AbortSignal): Promise<IncomingMessage> {
    const address = new URL(url);
    const addresses = await unlessAborted(signal, this.#guard.addressesOf(address));
    const request = (address.protocol === 'https:' ? secureRequest : plainRequest)(address, {
      method: 'POST',
      agent: false,
      signal,
      lookup: fixed(addresses),
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) },
    });
    return answerTo(request, body);
  }
}

/** Rejects when `signal` aborts, for work that cannot be told to stop, as the system's resolver. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const tell = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', tell);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', tell));
}

/** Stands in for the resolver, so that the connection goes where was checked. */
const fixed =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, [...addresses]);
    else done(null, first!.address, first!.family);
  };

async function answerTo(request: ClientRequest, body: string): Promise<IncomingMessage> {
  const answering = once(request, 'response') as Promise<[IncomingMessage]>;
  // What breaks after the answer has begun is met where the answer is read.
  request.on('error', () => undefined).end(body);
  const [response] = await answering;
  return response;
}

/** Whoever has answered with a status has taken it or not; that the rest of the answer never came changes nothing. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= KEPT) break;
    }
  } catch {
    // Kept as far as it came.
  }
  // The one character that no PostgreSQL text can hold.
  return Buffer.concat(chunks).subarray(0, KEPT).toString('utf8').replaceAll('\0', '');
}

/** Connections that were tried one after the other fail together, with the reasons inside. */
function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return `Not delivered: ${messageOf(inner).replaceAll('\0', '')}`;
}
