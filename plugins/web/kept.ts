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
  /** Deflated by itself and ended at a byte, so that parts and what comes between can be put in a row. */
  readonly zipped: Buffer;
  /** What follows the part. */
  readonly then: 'nonce' | 'csrf' | undefined;
}

// Header of a gzip stream without name or time; the answer's checksum and length follow the last part.
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
const GZIP_LAST = Buffer.from([3, 0]);

/** A page kept as bytes around the places where every answer differs. Compressing was done once, when it was kept. */
export class KeptPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  readonly #parts: readonly Part[];

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
    const pieces = splitMarks(text);
    this.#parts = pieces.flatMap((piece, index) => {
      if (index % 2 === 1) return [];
      const plain = Buffer.from(piece);
      const mark = pieces[index + 1];
      return [{ plain, zipped: deflateRawSync(plain, { level: 9, finishFlush: constants.Z_SYNC_FLUSH }), then: mark === undefined ? undefined : mark === csrfMark ? ('csrf' as const) : ('nonce' as const) }];
    });
  }

  /** Bytes held, about. */
  get size(): number {
    return this.#parts.reduce((sum, { plain, zipped }) => sum + plain.length + zipped.length, 0);
  }

  plain(answering: Answering): Buffer {
    return Buffer.concat(this.#parts.flatMap(({ plain, then }) => (then ? [plain, Buffer.from(answering[then], 'latin1')] : [plain])));
  }

  zipped(answering: Answering): Buffer {
    const out: Buffer[] = [GZIP_HEAD];
    let [checksum, length] = [0, 0];
    for (const { plain, zipped, then } of this.#parts) {
      checksum = crc32(plain, checksum);
      length += plain.length;
      out.push(zipped);
      if (!then) continue;
      const between = Buffer.from(answering[then], 'latin1');
      checksum = crc32(between, checksum);
      length += between.length;
      out.push(stored(between.length), between);
    }
    const end = Buffer.allocUnsafe(8);
    end.writeUInt32LE(checksum, 0);
    end.writeUInt32LE(length % 2 ** 32, 4);
    return Buffer.concat([...out, GZIP_LAST, end]);
  }
}

/** The head of a deflate block that is not compressed (RFC 1951, 3.2.4). */
function stored(length: number): Buffer {
  const head = Buffer.allocUnsafe(5);
  head[0] = 0;
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}
