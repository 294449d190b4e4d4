import type { IncomingMessage, ServerResponse } from 'node:http';
import { isFresh, type Http } from 'parley-forum';
import type { Sessions } from 'parley-forum/plugins/accounts';
import type { Allowance } from 'parley-forum/plugins/limits';
import type { CachedResponse, CachedResponses } from './cached-responses.ts';
import { rateHeaders, type RateLimits } from './rate-limits.ts';

export interface FastPathDeps {
  readonly cached: CachedResponses;
  readonly sessions: Sessions;
  readonly rateLimits: RateLimits;
  readonly http: Http;
  /** Refuses a request that exceeds its rate limit, or whose rate limit cannot be checked. */
  refuse(req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void;
}

/** Sends cached responses to guests before Express runs. */
export class FastPath {
  readonly #deps: FastPathDeps;

  constructor(deps: FastPathDeps) {
    this.#deps = deps;
  }

  /** Returns true if the response was sent, or will be as soon as the rate limit has been checked. */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    const { cached, sessions, rateLimits, refuse } = this.#deps;
    const { authorization, cookie, origin } = req.headers;
    // Responses to other origins may have additional headers, which does not justify a cache key of their own.
    if (authorization !== undefined || origin !== undefined || (cookie !== undefined && sessions.hasCookie(cookie)))
      return false;
    const answer = cached.findByUrl(req.url ?? '/');
    if (!answer) return false;
    const allowance = rateLimits.countGuest(req, answer.options.bucket);
    if (!(allowance instanceof Promise)) this.#send(req, res, answer, allowance);
    else
      allowance.then(
        (counted) => this.#send(req, res, answer, counted),
        (error: Error) => refuse(req, res, error),
      );
    return true;
  }

  #send(req: IncomingMessage, res: ServerResponse, answer: CachedResponse, allowance: Allowance): void {
    if (!allowance.allowed) return this.#deps.refuse(req, res, allowance);
    const fresh = isFresh(req, answer.etag);
    const gzipped = fresh ? undefined : answer.body.gzipFor(req);
    const head = [
      ...(gzipped ? answer.gzipHeaders : answer.headers),
      ...rateHeaders(allowance),
      'X-Request-Id',
      this.#deps.http.requestId(req),
    ];
    if (fresh) return void res.writeHead(304, head).end();
    const body = gzipped ?? answer.body.plain;
    head.push('Content-Length', String(body.length));
    res.writeHead(200, head).end(body);
  }
}
