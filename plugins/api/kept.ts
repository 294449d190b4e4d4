import { parse as parseQuery } from 'node:querystring';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Cache, Request, Response, RouteInfo } from '#core';
import { answersTag } from '#plugins/api';
import { etagOf, isFresh, JSON_TYPE, PRIVATE, takesGzip, VARY } from './answers.ts';

const compress = promisify(gzip);
/** Bytes; below it compressing costs more than it saves. */
const WORTH_COMPRESSING = 1024;
/** Characters of path and query; longer addresses hardly repeat. */
const LONGEST = 300;
/** Paths whose query is remembered at most; then the memory of them begins anew. */
const MOST_PATHS = 10_000;
/** One spelling per resource, so that made-up spellings cannot fill the memory with copies. */
const PLAIN_PATH = /^(\/[A-Za-z0-9._~-]+)+$/;

/** An answer as bytes, with the headers that do not differ from one sending to the next. */
export class KeptAnswer {
  readonly etag: string;
  readonly plain: Buffer;
  /** Names and values in turn, as `writeHead` takes them. */
  readonly head: readonly string[];
  readonly zippedHead: readonly string[];
  #zipped: Buffer | undefined;

  constructor(plain: Buffer, protection: readonly string[]) {
    this.plain = plain;
    this.etag = etagOf(plain);
    this.head = [...protection, 'Content-Type', JSON_TYPE, 'Cache-Control', PRIVATE, 'Vary', VARY, 'ETag', this.etag];
    this.zippedHead = [...this.head, 'Content-Encoding', 'gzip'];
    if (plain.length < WORTH_COMPRESSING) return;
    // In the background: until it is done the answer goes out as it is.
    compress(plain, { level: 9 }).then((zipped) => (this.#zipped = zipped), () => undefined);
  }

  /** The compressed form, once there is one. */
  get zipped(): Buffer | undefined {
    return this.#zipped;
  }
}

/** Sends a kept answer where protection and rate headers are set already. */
export function sendKept(req: Request, res: Response, { etag, plain, zipped }: KeptAnswer): void {
  res.setHeader('ETag', etag);
  res.setHeader('Cache-Control', PRIVATE);
  if (isFresh(req, etag)) return void res.writeHead(304).end();
  const small = zipped && takesGzip(req) ? zipped : undefined;
  if (small) res.setHeader('Content-Encoding', 'gzip');
  res.setHeader('Content-Type', JSON_TYPE);
  res.setHeader('Content-Length', (small ?? plain).length);
  res.writeHead(200).end(small ?? plain);
}

interface Keeping {
  readonly tags: readonly string[];
  /** `Cache.mark()` from before the answer was computed. */
  readonly mark: number;
  readonly caller: string;
}

/** Answers by address and caller, each under the query parameters that its route reads. The caller is empty for guests, who are all alike. */
export class KeptAnswers {
  readonly #cache: Cache;
  readonly #names = new Map<string, readonly string[]>();

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  find(url: string, caller = ''): KeptAnswer | undefined {
    const mark = url.indexOf('?');
    if (mark < 0) return this.#cache.peek<KeptAnswer>(`api ${caller} ${url}`);
    const path = url.slice(0, mark);
    const names = this.#names.get(path);
    return names && this.#cache.peek<KeptAnswer>(keyOf(caller, path, url.slice(mark + 1), names));
  }

  keep(url: string, route: RouteInfo, answer: KeptAnswer, { tags, mark, caller }: Keeping): void {
    const [path = '', query = ''] = url.split('?', 2);
    if (url.length > LONGEST || !PLAIN_PATH.test(path)) return;
    const names = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {}).sort();
    if (this.#names.size >= MOST_PATHS) this.#names.clear();
    this.#names.set(path, names);
    this.#cache.keep(keyOf(caller, path, query, names), [...tags, answersTag], answer, mark, { bytes: 1.5 * answer.plain.length + 1_000 });
  }
}

function keyOf(caller: string, path: string, query: string, names: readonly string[]): string {
  if (query === '') return `api ${caller} ${path}`;
  const values = parseQuery(query);
  const known = names.filter((name) => values[name] !== undefined).map((name) => `${name}=${JSON.stringify(values[name])}`);
  return `api ${caller} ${path}${known.length === 0 ? '' : `?${known.join('&')}`}`;
}
