import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { CheckedAddress, Cache, Clock, Request, Response, RouteInfo } from 'parley-forum';
import { answersTag, isFresh, takesGzip } from 'parley-forum/plugins/api';
import type { HeaderPair } from 'parley-forum/plugins/protection';
import { etagOf, JSON_TYPE, PRIVATE } from './responses.ts';
import type { OwnBucket } from './rate-limits.ts';

const compress = promisify(gzip);
/** Bytes; below it compressing costs more than it saves. */
const WORTH_COMPRESSING = 1024;
/** Characters of an address, and of what its handler sees; longer ones hardly repeat. */
const LONGEST = 300;
/** Bytes that an entry weighs beside its text. */
const ENTRY = 500;

/** What sending an answer again takes. */
interface Terms {
  /** What caches on the way are told that it depends on. */
  readonly vary: string;
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
    this.head = [
      ...protection.flat(),
      'Content-Type',
      JSON_TYPE,
      'Cache-Control',
      PRIVATE,
      'Vary',
      terms.vary,
      'ETag',
      this.etag,
    ];
    this.zippedHead = [...this.head, 'Content-Encoding', 'gzip'];
    if (plain.length < WORTH_COMPRESSING) return;
    // In the background: until it is done the answer goes out as it is.
    compress(plain, { level: 9 }).then(
      (zipped) => (this.#zipped = zipped),
      () => undefined,
    );
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
  /** `keptKey` of whoever asked and what the handler saw. */
  readonly key: string;
}

/**
 * Where the answer to `caller` is kept: under what the handler saw, so that the answer to one request is never
 * another's, however either was spelled. The caller is empty for guests, who are all alike.
 */
export function keptKey(caller: string, { path }: RouteInfo, { params, query }: CheckedAddress): string {
  const values = [params ?? {}, query ?? {}].map((part) => Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `api ${caller} ${path} ${JSON.stringify(values)}`;
}

/** Answers to guests and members. Of guests' also the spellings of addresses that were seen to ask for them. */
export class KeptAnswers {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #protection: () => readonly HeaderPair[];

  /** `protection`: the headers in force; an answer with others is not kept any longer. */
  constructor(cache: Cache, clock: Clock, protection: () => readonly HeaderPair[]) {
    this.#cache = cache;
    this.#clock = clock;
    this.#protection = protection;
  }

  find(key: string): KeptAnswer | undefined {
    const kept = this.#cache.peek<KeptAnswer>(key);
    if (kept?.protection !== this.#protection()) return undefined;
    return kept.terms.until !== undefined && kept.terms.until <= this.#clock.now() ? undefined : kept;
  }

  /** For a guest, by an address exactly as it was sent. Another spelling is not guessed at: it has to be read first. */
  findSpelled(url: string): KeptAnswer | undefined {
    const key = this.#cache.peek<string>(spelled(url));
    return key === undefined ? undefined : this.find(key);
  }

  keep(answer: KeptAnswer, { key, tags, mark }: Keeping): void {
    if (key.length <= LONGEST)
      this.#cache.keep(key, [...tags, answersTag], answer, mark, { bytes: 1.5 * answer.plain.length + 2 * ENTRY });
  }

  /**
   * Notes that `url` is a guest's way to ask for what is kept under `key`. What routes read may change with plugins,
   * hence `mark`.
   */
  spell(url: string, key: string, mark: number): void {
    if (url.length <= LONGEST)
      this.#cache.keep(spelled(url), [answersTag], key, mark, { bytes: url.length + key.length + ENTRY });
  }
}

const spelled = (url: string): string => `api address ${url}`;
