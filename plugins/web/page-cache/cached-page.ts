import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { constants, deflateRawSync } from 'node:zlib';
import { csrfPlaceholder } from '../api.ts';
import { Crc32 } from './checksum.ts';
import { splitAtPlaceholders } from '../pages/placeholders.ts';

/** The values each response fills into a cached page. */
export interface ResponseValues {
  readonly nonce: string;
  readonly csrf: string;
}
type PlaceholderName = keyof ResponseValues;
interface Placeholder {
  readonly name: PlaceholderName;
  /** Bytes, and characters: base64 and the like. */
  readonly length: number;
}
type Segment = Buffer | Placeholder;

/** 16 random bytes in base64, and an HMAC-SHA256 in base64url. */
const PLACEHOLDERS: Readonly<Record<PlaceholderName, Placeholder>> = {
  nonce: { name: 'nonce', length: 24 },
  csrf: { name: 'csrf', length: 43 },
};

// Header of a gzip stream without name or time; the response's checksum and length follow the last block.
const GZIP_HEADER = Buffer.from('\x1f\x8b\b\0\0\0\0\0\x02\xff', 'latin1');
const GZIP_FINAL_BLOCK = Buffer.from('\x03\0', 'latin1');
const GZIP_TRAILER_LENGTH = 8;

/** Hash of a page with its placeholders: equal for equal pages, no matter which user they are for. */
export const pageHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

const lengthOf = (segments: readonly Segment[]): number => segments.reduce((sum, { length }) => sum + length, 0);

/** A page cached as bytes around the placeholders that every response fills. It is compressed once. */
export class CachedPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  /** Bytes held, about: with a few buffers that are on their way, and the compressed form. */
  readonly size: number;
  readonly #segments: readonly Segment[];
  #identity: BodyTemplate | undefined;
  #gzip: BodyTemplate | undefined;

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = pageHash(text);
    this.#segments = splitAtPlaceholders(text).map((segment, index) =>
      index % 2 === 0 ? Buffer.from(segment) : segment === csrfPlaceholder ? PLACEHOLDERS.csrf : PLACEHOLDERS.nonce,
    );
    this.size = 3 * lengthOf(this.#segments);
  }

  /** Sends 200 with these headers (names and values in turn) and the page. */
  send(res: ServerResponse, headers: string[], values: ResponseValues): void {
    (this.#identity ??= new BodyTemplate(this.#segments)).send(res, headers, values);
  }

  /** The same as gzip. Compressed on the first such request: most pages of members are shown once. */
  sendGzip(res: ServerResponse, headers: string[], values: ResponseValues): void {
    headers.push('Content-Encoding', 'gzip');
    (this.#gzip ??= gzipTemplate(this.#segments)).send(res, headers, values);
  }
}

/** Buffers of one page that wait to be filled again: about as many as are on their way at a time on a busy page. */
const MAX_SPARE_BUFFERS = 8;

/**
 * Bytes that are the same in every response except for the placeholders. A buffer is reused once the socket has sent
 * it: copying a page would cost more than all else.
 */
class BodyTemplate {
  readonly #template: Buffer;
  readonly #placeholders: readonly (Placeholder & { readonly at: number })[];
  readonly #finish: ((bytes: Buffer, values: ResponseValues) => void) | undefined;
  readonly #spareBuffers: Buffer[] = [];

  constructor(segments: readonly Segment[], finish?: (bytes: Buffer, values: ResponseValues) => void) {
    this.#template = Buffer.concat(
      segments.map((segment) => (Buffer.isBuffer(segment) ? segment : Buffer.alloc(segment.length))),
    );
    this.#placeholders = segments.flatMap((segment, index) =>
      Buffer.isBuffer(segment) ? [] : [{ ...segment, at: lengthOf(segments.slice(0, index)) }],
    );
    this.#finish = finish;
  }

  send(res: ServerResponse, headers: string[], values: ResponseValues): void {
    const bytes = this.#spareBuffers.pop() ?? Buffer.from(this.#template);
    for (const { at, name: what, length } of this.#placeholders) {
      if (values[what].length !== length) throw new Error(`a page's ${what} must have ${length} characters`);
      bytes.write(values[what], at, 'latin1');
    }
    this.#finish?.(bytes, values);
    headers.push('Content-Length', String(bytes.length));
    res.writeHead(200, headers).end(bytes, () => {
      if (this.#spareBuffers.length < MAX_SPARE_BUFFERS) this.#spareBuffers.push(bytes);
    });
  }
}

/** Each part is deflated by itself and ended at a byte; what comes between is stored as it is. */
function gzipTemplate(segments: readonly Segment[]): BodyTemplate {
  const checksum = new Crc32(segments);
  const size = lengthOf(segments);
  const blocks = segments.flatMap((segment): Segment[] =>
    Buffer.isBuffer(segment)
      ? [deflateRawSync(segment, { level: 9, finishFlush: constants.Z_SYNC_FLUSH })]
      : [storedBlockHeader(segment.length), segment],
  );
  return new BodyTemplate(
    [GZIP_HEADER, ...blocks, GZIP_FINAL_BLOCK, Buffer.alloc(GZIP_TRAILER_LENGTH)],
    (bytes, values) => {
      bytes.writeUInt32LE(checksum.compute(values), bytes.length - GZIP_TRAILER_LENGTH);
      bytes.writeUInt32LE(size, bytes.length - GZIP_TRAILER_LENGTH + 4);
    },
  );
}

/** The head of a deflate block that is not compressed (RFC 1951, 3.2.4). */
function storedBlockHeader(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}
