import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { constants, deflateRawSync } from 'node:zlib';
import { csrfMark } from '../api.ts';
import { Checksum } from './checksum.ts';
import { splitMarks } from '../pages/placeholders.ts';

/** What each answer puts between a kept page's parts. */
export interface Answering {
  readonly nonce: string;
  readonly csrf: string;
}
type What = keyof Answering;
interface Hole {
  readonly what: What;
  /** Bytes, and characters: base64 and the like. */
  readonly length: number;
}
type Piece = Buffer | Hole;

/** 16 random bytes in base64, and an HMAC-SHA256 in base64url. */
const HOLES: Readonly<Record<What, Hole>> = {
  nonce: { what: 'nonce', length: 24 },
  csrf: { what: 'csrf', length: 43 },
};

// Header of a gzip stream without name or time; the answer's checksum and length follow the last part.
const GZIP_HEAD = Buffer.from('\x1f\x8b\b\0\0\0\0\0\x02\xff', 'latin1');
const GZIP_LAST = Buffer.from('\x03\0', 'latin1');
const GZIP_END = 8;

/** Of a page with its marks: equal for equal pages, whoever they are for. */
export const pageHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

const lengthOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** A page kept as bytes around the places where every answer differs. Compressing is done once. */
export class KeptPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  /** Bytes held, about: with a few buffers that are on their way, and the compressed form. */
  readonly size: number;
  readonly #pieces: readonly Piece[];
  #plain: Mould | undefined;
  #zipped: Mould | undefined;

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = pageHash(text);
    this.#pieces = splitMarks(text).map((piece, index) =>
      index % 2 === 0 ? Buffer.from(piece) : piece === csrfMark ? HOLES.csrf : HOLES.nonce,
    );
    this.size = 3 * lengthOf(this.#pieces);
  }

  /** Answers 200 with these headers (names and values in turn) and the page. */
  send(res: ServerResponse, headers: string[], answering: Answering): void {
    (this.#plain ??= new Mould(this.#pieces)).send(res, headers, answering);
  }

  /** The same as gzip. Compressed when it is first asked for: most pages of members are shown once. */
  sendZipped(res: ServerResponse, headers: string[], answering: Answering): void {
    headers.push('Content-Encoding', 'gzip');
    (this.#zipped ??= zip(this.#pieces)).send(res, headers, answering);
  }
}

/** Buffers of one page that wait to be filled again: about as many as are on their way at a time on a busy page. */
const SPARE = 8;

/**
 * Bytes that are the same in every answer but for their holes. A buffer is used again once the system has taken it:
 * copying a page would cost more than all else.
 */
class Mould {
  readonly #whole: Buffer;
  readonly #holes: readonly (Hole & { readonly at: number })[];
  readonly #finish: ((bytes: Buffer, answering: Answering) => void) | undefined;
  readonly #spare: Buffer[] = [];

  constructor(pieces: readonly Piece[], finish?: (bytes: Buffer, answering: Answering) => void) {
    this.#whole = Buffer.concat(pieces.map((piece) => (Buffer.isBuffer(piece) ? piece : Buffer.alloc(piece.length))));
    this.#holes = pieces.flatMap((piece, index) =>
      Buffer.isBuffer(piece) ? [] : [{ ...piece, at: lengthOf(pieces.slice(0, index)) }],
    );
    this.#finish = finish;
  }

  send(res: ServerResponse, headers: string[], answering: Answering): void {
    const bytes = this.#spare.pop() ?? Buffer.from(this.#whole);
    for (const { at, what, length } of this.#holes) {
      if (answering[what].length !== length) throw new Error(`a page's ${what} must have ${length} characters`);
      bytes.write(answering[what], at, 'latin1');
    }
    this.#finish?.(bytes, answering);
    headers.push('Content-Length', String(bytes.length));
    res.writeHead(200, headers).end(bytes, () => {
      if (this.#spare.length < SPARE) this.#spare.push(bytes);
    });
  }
}

/** Each part is deflated by itself and ended at a byte; what comes between is stored as it is. */
function zip(pieces: readonly Piece[]): Mould {
  const checksum = new Checksum(pieces);
  const size = lengthOf(pieces);
  const blocks = pieces.flatMap((piece): Piece[] =>
    Buffer.isBuffer(piece)
      ? [deflateRawSync(piece, { level: 9, finishFlush: constants.Z_SYNC_FLUSH })]
      : [storedHead(piece.length), piece],
  );
  return new Mould([GZIP_HEAD, ...blocks, GZIP_LAST, Buffer.alloc(GZIP_END)], (bytes, answering) => {
    bytes.writeUInt32LE(checksum.of(answering), bytes.length - GZIP_END);
    bytes.writeUInt32LE(size, bytes.length - GZIP_END + 4);
  });
}

/** The head of a deflate block that is not compressed (RFC 1951, 3.2.4). */
function storedHead(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}
