import { createHash } from 'node:crypto';
import { crc32, constants, deflateRawSync } from 'node:zlib';
import { csrfMark } from './api.ts';
import { splitMarks } from './marks.ts';

/** What each answer puts between a kept page's parts. */
export interface Answering {
  readonly nonce: string;
  readonly csrf: string;
}

interface Part {
  readonly plain: Buffer;
  /** The same bytes as latin1 text. */
  readonly bytes: string;
  /** Deflated by itself and ended at a byte, so that parts and what comes between can be put in a row. */
  readonly zipped: string;
  /** What follows the part. */
  readonly then: 'nonce' | 'csrf' | undefined;
}

// Header of a gzip stream without name or time; the answer's checksum and length follow the last part.
const GZIP_HEAD = '\x1f\x8b\b\0\0\0\0\0\x02\xff';
const GZIP_LAST = '\x03\0';

/** Of a page with its marks: equal for equal pages, whoever they are for. */
export const pageHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

/** A page kept as bytes around the places where every answer differs. Compressing was done once, when it was kept. */
export class KeptPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  readonly #parts: readonly Part[];

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = pageHash(text);
    const pieces = splitMarks(text);
    this.#parts = pieces.flatMap((piece, index) => {
      if (index % 2 === 1) return [];
      const plain = Buffer.from(piece);
      const mark = pieces[index + 1];
      return [{ plain, bytes: plain.toString('latin1'), zipped: deflateRawSync(plain, { level: 9, finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1'), then: mark === undefined ? undefined : mark === csrfMark ? ('csrf' as const) : ('nonce' as const) }];
    });
  }

  /** Bytes held, about. */
  get size(): number {
    return this.#parts.reduce((sum, { plain, zipped }) => sum + 2 * plain.length + zipped.length, 0);
  }

  /** One character for each byte (latin1): Node then sends head and body in one write, which a buffer would not allow. */
  plain(answering: Answering): string {
    let text = '';
    for (const { bytes, then } of this.#parts) text += then ? bytes + answering[then] : bytes;
    return text;
  }

  /** As gzip, one character for each byte too. */
  zipped(answering: Answering): string {
    let out = GZIP_HEAD;
    let [checksum, length] = [0, 0];
    for (const { plain, zipped, then } of this.#parts) {
      checksum = crc32(plain, checksum);
      length += plain.length;
      out += zipped;
      if (!then) continue;
      const between = Buffer.from(answering[then], 'latin1');
      checksum = crc32(between, checksum);
      length += between.length;
      out += stored(between.length) + answering[then];
    }
    const end = Buffer.allocUnsafe(8);
    end.writeUInt32LE(checksum, 0);
    end.writeUInt32LE(length % 2 ** 32, 4);
    return out + GZIP_LAST + end.toString('latin1');
  }
}

/** The head of a deflate block that is not compressed (RFC 1951, 3.2.4). */
function stored(length: number): string {
  const [low, high] = [length & 0xff, length >> 8];
  return String.fromCharCode(0, low, high, ~low & 0xff, ~high & 0xff);
}
