import { messageOf } from 'parley-forum';
import { BlockedUrl, type GuardedResponse, type UrlGuard } from 'parley-forum/plugins/protection';

/** Milliseconds from the DNS lookup to the end of the response. */
const TIMEOUT = 15_000;
/** Bytes of a response that are stored; the rest is not read. */
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
  /** Its beginning. */
  readonly response: string | undefined;
  readonly retryAfter: string | undefined;
  readonly error: string | undefined;
  /** Refused by the URL guard. */
  readonly blocked: boolean;
}

/** Posts to other servers: no redirects, no keep-alive, only to URLs that the guard allows. */
export class Sender {
  readonly #guard: UrlGuard;

  constructor(guard: UrlGuard) {
    this.#guard = guard;
  }

  /** Rejects only when `stop` aborts; then it is unknown whether it arrived. */
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
        error: late.signal.aborted ? `No answer within ${TIMEOUT / 1_000} s` : reasonOf(error),
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

/** The status decides whether a delivery succeeded; a response that breaks off afterwards changes nothing. */
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
    // Stored as far as it came.
  }
  // The one character that no PostgreSQL text can hold.
  return Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES).toString('utf8').replaceAll('\0', '');
}

/** Several connection attempts fail as one error, with the reasons inside. */
function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return `Not delivered: ${messageOf(inner).replaceAll('\0', '')}`;
}
