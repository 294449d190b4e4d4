import { parse as parseQuery } from 'node:querystring';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Cache, Clock, Request, Response, RouteInfo } from '#core';
import { answersTag, isFresh, takesGzip } from '#plugins/api';
import type { HeaderPair } from '#plugins/protection';
import { etagOf, JSON_TYPE, PRIVATE, VARY } from './answers.ts';
import type { OwnBucket } from './rates.ts';

const compress = promisify(gzip);
/** Bytes; below it compressing costs more than it saves. */
const WORTH_COMPRESSING = 1024;
/** Characters of path and query; longer addresses hardly repeat. */
const LONGEST = 300;
/** Paths whose query is remembered at most; then the memory of them begins anew. */
const MOST_PATHS = 10_000;
/** One spelling per resource, so that made-up spellings cannot fill the memory with copies. */
const PLAIN_PATH = /^(\/[A-Za-z0-9._~-]+)+$/;

/** What sending an answer again takes. */
interface Terms {
  /** Which bucket it counts in; undefined: the general one. */
  readonly bucket: OwnBucket | undefined;
  /** Epoch milliseconds from which it is another answer; undefined while nothing is written. */
  readonly until: number | undefined;
}

/** An answer as bytes, with the headers that do not differ from one sending to the next. */
export class KeptAnswer {
  readonly etag: string;
  readonly plain: Buffer;
  readonly terms: Terms;
  readonly protection: readonly HeaderPair[];
  /** Names and values in turn, as `writeHead` takes them. */
  readonly head: readonly string[];
  readonly zippedHead: readonly string[];
  #zipped: Buffer | undefined;

  constructor(plain: Buffer, protection: readonly HeaderPair[], terms: Terms) {
    this.plain = plain;
    this.terms = terms;
    this.protection = protection;
    this.etag = etagOf(plain);
    this.head = [...protection.flat(), 'Content-Type', JSON_TYPE, 'Cache-Control', PRIVATE, 'Vary', VARY, 'ETag', this.etag];
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
  readonly #clock: Clock;
  readonly #protection: () => readonly HeaderPair[];
  readonly #names = new Map<string, readonly string[]>();

  /** `protection`: the headers in force; an answer with others is not kept any longer. */
  constructor(cache: Cache, clock: Clock, protection: () => readonly HeaderPair[]) {
    this.#cache = cache;
    this.#clock = clock;
    this.#protection = protection;
  }

  find(url: string, caller = ''): KeptAnswer | undefined {
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const names = mark < 0 ? [] : this.#names.get(path);
    const kept = names && this.#cache.peek<KeptAnswer>(keyOf(caller, path, mark < 0 ? '' : url.slice(mark + 1), names));
    if (kept?.protection !== this.#protection()) return undefined;
    return kept.terms.until !== undefined && kept.terms.until <= this.#clock.now() ? undefined : kept;
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
