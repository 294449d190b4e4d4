import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { acceptsEncoding } from './freshness.ts';

/** Bytes that are the same in every response, or the name and length (in bytes) of a value that differs. */
export type BodySegment<Name extends string> = Buffer | { readonly name: Name; readonly length: number };
type Values<Name extends string> = Readonly<Record<Name, string>>;

const lengthOf = (segments: readonly BodySegment<string>[]): number =>
  segments.reduce((sum, { length }) => sum + length, 0);

/**
 * A body shared by many responses that differ only in short values, such as a nonce. Each form is built on first use,
 * and the compressed one serves all values; docs/decisions/0014-compressed-once.md says how much that saves.
 */
export class BodyTemplate<Name extends string> {
  /** Length of the uncompressed body in bytes. */
  readonly length: number;
  readonly #segments: readonly BodySegment<Name>[];
  #identity: FilledBuffer<Name> | undefined;
  #gzip: FilledBuffer<Name> | undefined;

  constructor(segments: readonly BodySegment<Name>[]) {
    this.#segments = segments;
    this.length = lengthOf(segments);
  }

  /**
   * Sends a 200 with these headers (alternating names and values) and the body, gzipped if the client accepts it. Adds
   * `Content-Length` and `Content-Encoding`. Throws an `Error` if a value (ASCII) does not have its declared length.
   */
  send(req: IncomingMessage, res: ServerResponse, headers: string[], values: Values<Name>): void {
    if (acceptsEncoding(req, 'gzip')) {
      headers.push('Content-Encoding', 'gzip');
      (this.#gzip ??= gzip(this.#segments)).send(res, headers, values);
    } else {
      (this.#identity ??= new FilledBuffer(this.#segments)).send(res, headers, values);
    }
  }
}

/** Maximum number of spare buffers per body: about as many as a busy page has in flight at a time. */
const MAX_SPARE_BUFFERS = 8;

/** Reuses a buffer once the socket has sent it: copying the body would cost more than everything else. */
class FilledBuffer<Name extends string> {
  readonly #template: Buffer;
  readonly #values: readonly { readonly name: Name; readonly length: number; readonly at: number }[];
  readonly #finish: ((bytes: Buffer, values: Values<Name>) => void) | undefined;
  readonly #spareBuffers: Buffer[] = [];

  constructor(segments: readonly BodySegment<Name>[], finish?: (bytes: Buffer, values: Values<Name>) => void) {
    this.#template = Buffer.concat(
      segments.map((segment) => (Buffer.isBuffer(segment) ? segment : Buffer.alloc(segment.length))),
    );
    this.#values = segments.flatMap((segment, index) =>
      Buffer.isBuffer(segment) ? [] : [{ ...segment, at: lengthOf(segments.slice(0, index)) }],
    );
    this.#finish = finish;
  }

  send(res: ServerResponse, headers: string[], values: Values<Name>): void {
    const bytes = this.#spareBuffers.pop() ?? Buffer.from(this.#template);
    for (const { at, name, length } of this.#values) {
      if (values[name].length !== length) throw new Error(`a response's ${name} must have ${length} characters`);
      bytes.write(values[name], at, 'latin1');
    }
    this.#finish?.(bytes, values);
    headers.push('Content-Length', String(bytes.length));
    res.writeHead(200, headers).end(bytes, () => {
      if (this.#spareBuffers.length < MAX_SPARE_BUFFERS) this.#spareBuffers.push(bytes);
    });
  }
}

// Header of a gzip stream without name or time; the checksum and length follow the last block.
const GZIP_HEADER = Buffer.from('\x1f\x8b\b\0\0\0\0\0\x02\xff', 'latin1');
const GZIP_FINAL_BLOCK = Buffer.from('\x03\0', 'latin1');
const GZIP_TRAILER_LENGTH = 8;

/**
 * Deflates each constant segment separately, ending on a byte boundary; the values between them are stored
 * uncompressed.
 */
function gzip<Name extends string>(segments: readonly BodySegment<Name>[]): FilledBuffer<Name> {
  const checksum = checksumOf(segments);
  const size = lengthOf(segments);
  const blocks = segments.flatMap((segment): BodySegment<Name>[] =>
    Buffer.isBuffer(segment)
      ? [deflateRawSync(segment, { level: 9, finishFlush: constants.Z_SYNC_FLUSH })]
      : [storedBlockHeader(segment.length), segment],
  );
  return new FilledBuffer(
    [GZIP_HEADER, ...blocks, GZIP_FINAL_BLOCK, Buffer.alloc(GZIP_TRAILER_LENGTH)],
    (bytes, values) => {
      bytes.writeUInt32LE(checksum(values), bytes.length - GZIP_TRAILER_LENGTH);
      bytes.writeUInt32LE(size, bytes.length - GZIP_TRAILER_LENGTH + 4);
    },
  );
}

/** The header of an uncompressed deflate block (RFC 1951, 3.2.4). */
function storedBlockHeader(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}

/**
 * Computes the CRC-32 of a body: the constant segments' checksums are computed once and combined the way zlib's
 * crc32_combine does.
 */
function checksumOf<Name extends string>(segments: readonly BodySegment<Name>[]): (values: Values<Name>) => number {
  const steps = segments.map((segment) => ({
    checksum: Buffer.isBuffer(segment) ? crc32(segment) : segment.name,
    shifts: shiftsBy(segment.length),
  }));
  return (values) => {
    let sum = 0;
    for (const { checksum, shifts } of steps) {
      let next = typeof checksum === 'number' ? checksum : crc32(values[checksum]);
      for (let bit = 0, rest = sum; rest !== 0; bit++, rest >>>= 1) if (rest & 1) next ^= shifts[bit]!;
      sum = next >>> 0;
    }
    return sum;
  };
}

/**
 * For each bit of a checksum, its contribution after `length` more bytes. CRCs are linear, so each bit can be shifted
 * separately.
 */
function shiftsBy(length: number): Uint32Array {
  const zeros = Buffer.alloc(length);
  const none = crc32(zeros, 0);
  return Uint32Array.from({ length: 32 }, (_, bit) => crc32(zeros, (1 << bit) >>> 0) ^ none);
}
