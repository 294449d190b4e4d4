import { messageOf } from 'parley-forum';
import { BlockedUrl, type GuardedResponse, type UrlGuard } from 'parley-forum/plugins/protection';

/** Timeout in milliseconds from the DNS lookup to the end of the response. */
const TIMEOUT = 15_000;
/** Maximum number of bytes of a response that are read and stored. */
const MAX_RESPONSE_BYTES = 65_536;

export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
/** The result: a response with a status, or an error. */
export interface SendResult {
  readonly status: number | undefined;
  readonly durationMs: number;
  /** The beginning of the response body. */
  readonly response: string | undefined;
  readonly retryAfter: string | undefined;
  readonly error: string | undefined;
  /** Whether the URL guard rejected the request. */
  readonly blocked: boolean;
}

/** Sends POST requests to other servers: without redirects or keep-alive, and only to URLs that the guard allows. */
export class Sender {
  readonly #guard: UrlGuard;

  constructor(guard: UrlGuard) {
    this.#guard = guard;
  }

  /** Rejects only if `stop` aborts; it is then unknown whether the request arrived. */
  async send(outgoing: OutgoingRequest, stop: AbortSignal): Promise<SendResult> {
    const start = performance.now();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), TIMEOUT);
    const took = (): number => Math.round(performance.now() - start);
    const nothing = { status: undefined, response: undefined, retryAfter: undefined, error: undefined, blocked: false };
    try {
      const response = await this.#post(outgoing, AbortSignal.any([stop, late.signal]));
      const beginning = await readBeginning(response);
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
      if (error instanceof BlockedUrl)
        return { ...nothing, durationMs: took(), error: `Not sent: the address ${error.message}`, blocked: true };
      return {
        ...nothing,
        durationMs: took(),
        error: late.signal.aborted ? `No response within ${TIMEOUT / 1_000} s` : reasonOf(error),
      };
    } finally {
      clearTimeout(timer);
    }
  }

  #post({ url, headers, body }: OutgoingRequest, signal: AbortSignal): Promise<GuardedResponse> {
    return this.#guard.request(new URL(url), {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) },
      body,
      signal,
    });
  }
}

/** The status decides whether a delivery succeeded; a response body that is cut off afterwards does not matter. */
async function readBeginning(response: GuardedResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_RESPONSE_BYTES) break;
    }
  } catch {
    // Store what has been received.
  }
  // NUL is the only character that PostgreSQL cannot store in text.
  return Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES).toString('utf8').replaceAll('\0', '');
}

/** If several connection attempts failed, the reasons are inside an `AggregateError`. */
function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return `Not delivered: ${messageOf(inner).replaceAll('\0', '')}`;
}
