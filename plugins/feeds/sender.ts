import type { IncomingMessage, ServerResponse } from 'node:http';
import { isFresh, type Clock, type Http, type HttpError, type Settings } from 'parley-forum';
import { varyHeader } from 'parley-forum/plugins/api';
import { DATA_POLICY, type HeaderPair, type Protection } from 'parley-forum/plugins/protection';
import type { FeedDocument } from './feed-builder.ts';
import type { CachedFeed } from './cached-feeds.ts';

interface SenderDeps {
  readonly clock: Clock;
  readonly http: Http;
  readonly protection: Protection;
  readonly settings: Settings;
}

/** Epoch seconds as an HTTP date. */
const dateOf = (seconds: number): string => new Date(seconds * 1_000).toUTCString();

/** Sends feeds. Headers are flat lists of names and values, as `writeHead` takes them. */
export class Sender {
  readonly #deps: SenderDeps;
  #protection: { readonly from: readonly HeaderPair[]; readonly lines: readonly string[] } = { from: [], lines: [] };

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Sends a feed that is the same for all guests, or 304 if they have the current version. */
  send(
    req: IncomingMessage,
    res: ServerResponse,
    { type, etag, changedAt, body }: CachedFeed,
    { secret }: { readonly secret: boolean } = { secret: false },
  ): void {
    const head = this.#head(req, secret ? 'private, no-store' : 'private, no-cache', type);
    head.push('ETag', etag, 'Last-Modified', dateOf(Math.min(changedAt, Math.floor(this.#deps.clock.now() / 1_000))));
    if (isFresh(req, etag, changedAt)) return void res.writeHead(304, head).end();
    const gzipped = body.gzipFor(req);
    if (gzipped) head.push('Content-Encoding', 'gzip');
    end(res, 200, head, gzipped ?? body.plain);
  }

  /** Sends a feed for a single reader. */
  sendPersonal(
    req: IncomingMessage,
    res: ServerResponse,
    { type, body, etag }: FeedDocument & { readonly etag: string },
  ): void {
    const head = this.#head(req, 'private, no-store', type);
    head.push('ETag', etag);
    if (isFresh(req, etag)) return void res.writeHead(304, head).end();
    end(res, 200, head, body);
  }

  /** Sends the error envelope. */
  sendError(req: IncomingMessage, res: ServerResponse, { status, message, code, headers }: HttpError): void {
    const body = { success: false, error: message, code, request_id: this.#deps.http.requestId(req) };
    const head = this.#head(req, 'no-store', 'application/json; charset=utf-8');
    end(res, status, [...head, ...Object.entries(headers).flat()], Buffer.from(JSON.stringify(body)));
  }

  /** The URL may contain a token, so it is not sent as referrer to the pages a feed links to. */
  #head(req: IncomingMessage, control: string, type: string): string[] {
    const from = this.#deps.protection.headers(DATA_POLICY);
    if (this.#protection.from !== from) {
      const lines = [...from.filter(([name]) => name !== 'Referrer-Policy'), ['Referrer-Policy', 'no-referrer']].flat();
      this.#protection = { from, lines };
    }
    const vary = varyHeader(this.#deps.settings);
    return [
      ...this.#protection.lines,
      'Content-Type',
      type,
      'Cache-Control',
      control,
      'Vary',
      vary,
      'X-Request-Id',
      this.#deps.http.requestId(req),
    ];
  }
}

function end(res: ServerResponse, status: number, head: string[], body: Buffer): void {
  head.push('Content-Length', String(body.length));
  res.writeHead(status, head).end(body);
}
