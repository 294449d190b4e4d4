import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http } from 'parley-forum';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { isFresh, takesGzip } from 'parley-forum/plugins/api';
import type { Allowance } from 'parley-forum/plugins/limits';
import type { KeptAnswer, KeptAnswers } from './cached-responses.ts';
import { rateHeaders, type Rates } from './rate-limits.ts';

export interface ReplayParts {
  readonly kept: KeptAnswers;
  readonly sessions: Sessions;
  readonly rates: Rates;
  readonly http: Http;
  /** Answers what cannot be answered from bytes: too many requests, or no way to count them. */
  refuse(req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void;
}

/** Guests' answers sent again as bytes, before Express is entered. */
export class Replay {
  readonly #parts: ReplayParts;

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /** True when it has answered, or will as soon as the request is counted. */
  answer(req: IncomingMessage, res: ServerResponse): boolean {
    const { kept, sessions, rates, refuse } = this.#parts;
    const { authorization, cookie, origin } = req.headers;
    // Another origin may be told more, which is not worth a key of its own.
    if (authorization !== undefined || origin !== undefined || (cookie !== undefined && sessions.hasCookie(cookie)))
      return false;
    const answer = kept.findSpelled(req.url ?? '/');
    if (!answer) return false;
    const allowance = rates.countGuest(req, answer.terms.bucket);
    if (!(allowance instanceof Promise)) this.#send(req, res, answer, allowance);
    else
      allowance.then(
        (counted) => this.#send(req, res, answer, counted),
        (error: Error) => refuse(req, res, error),
      );
    return true;
  }

  #send(req: IncomingMessage, res: ServerResponse, answer: KeptAnswer, allowance: Allowance): void {
    if (!allowance.allowed) return this.#parts.refuse(req, res, allowance);
    const zipped = answer.zipped !== undefined && takesGzip(req) ? answer.zipped : undefined;
    const fresh = isFresh(req, answer.etag);
    const head = [
      ...(zipped && !fresh ? answer.zippedHead : answer.head),
      ...rateHeaders(allowance),
      'X-Request-Id',
      this.#parts.http.idOf(req),
    ];
    if (fresh) return void res.writeHead(304, head).end();
    const body = zipped ?? answer.plain;
    head.push('Content-Length', String(body.length));
    res.writeHead(200, head).end(body);
  }
}
