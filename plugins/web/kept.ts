import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { crc32, constants, deflateRawSync } from 'node:zlib';
import { csrfMark } from './api.ts';
import { splitMarks } from './marks.ts';

/** What each answer puts between a kept page's parts. Base64 and the like: one byte a character. */
export interface Answering {
  readonly nonce: string;
  readonly csrf: string;
}

interface Part {
  readonly plain: Buffer;
  /** As text, one character for each byte. */
  readonly plainText: string;
  /** What follows the part. */
  readonly next: keyof Answering | undefined;
}
interface Zipped extends Part {
  /** Deflated by itself and ended at a byte, so that parts and what comes between can be put in a row. */
  readonly zipped: Buffer;
  readonly zippedText: string;
}

// Header of a gzip stream without name or time; the answer's checksum and length follow the last part.
const GZIP_HEAD = '\x1f\x8b\b\0\0\0\0\0\x02\xff';
const GZIP_LAST = '\x03\0';
const GZIP_END = 8;

/**
 * Bytes from which a part is handed to the socket as it lies in memory. Smaller ones are cheaper copied: Node sends text
 * that directly follows the head in one write with it.
 */
const LARGE = 4_096;

/** Of a page with its marks: equal for equal pages, whoever they are for. */
export const pageHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

/** A page kept as bytes around the places where every answer differs. Compressing was done once, when it was kept. */
export class KeptPage {
  readonly path: string;
  /** Identifies everything but nonce and token. */
  readonly hash: string;
  readonly #parts: readonly Part[];
  #zipped: readonly Zipped[] | undefined;

  constructor(text: string, path: string) {
    this.path = path;
    this.hash = pageHash(text);
    const pieces = splitMarks(text);
    this.#parts = pieces.flatMap((piece, index) => {
      if (index % 2 === 1) return [];
      const plain = Buffer.from(piece);
      const mark = pieces[index + 1];
      const next = mark === undefined ? undefined : mark === csrfMark ? ('csrf' as const) : ('nonce' as const);
      return [{ plain, plainText: plain.toString('latin1'), next }];
    });
  }

  /** Bytes held, about; the compressed form takes about a fourth of the plain one. */
  get size(): number {
    return this.#parts.reduce((sum, { plain }) => sum + 2.5 * plain.length, 0);
  }

  /** Compressed when it is first asked for: most pages of members are shown once. */
  get #compressed(): readonly Zipped[] {
    return (this.#zipped ??= this.#parts.map((part) => {
      const zipped = deflateRawSync(part.plain, { level: 9, finishFlush: constants.Z_SYNC_FLUSH });
      return { ...part, zipped, zippedText: zipped.toString('latin1') };
    }));
  }

  /** Answers 200 with these headers (names and values in turn) and the page. */
  send(res: ServerResponse, headers: string[], answering: Answering): void {
    const length = this.#parts.reduce((sum, { plain, next }) => sum + plain.length + (next ? answering[next].length : 0), 0);
    headers.push('Content-Length', String(length));
    res.cork();
    res.writeHead(200, headers);
    let text = '';
    for (const { plain, plainText, next } of this.#parts) {
      text = put(res, text, plain, plainText);
      if (next) text += answering[next];
    }
    res.end(text, 'latin1');
    res.uncork();
  }

  /** The same as gzip. */
  sendZipped(res: ServerResponse, headers: string[], answering: Answering): void {
    const parts = this.#compressed;
    const frame = GZIP_HEAD.length + GZIP_LAST.length + GZIP_END;
    const length = parts.reduce((sum, { zipped, next }) => sum + zipped.length + (next ? answering[next].length + STORED_HEAD : 0), frame);
    headers.push('Content-Encoding', 'gzip', 'Content-Length', String(length));
    res.cork();
    res.writeHead(200, headers);
    let [text, checksum, size] = [GZIP_HEAD, 0, 0];
    for (const { plain, zipped, zippedText, next } of parts) {
      text = put(res, text, zipped, zippedText);
      checksum = crc32(plain, checksum);
      size += plain.length;
      if (!next) continue;
      const between = answering[next];
      checksum = crc32(between, checksum);
      size += between.length;
      text += storedHead(between.length) + between;
    }
    res.end(text + GZIP_LAST + littleEndian(checksum) + littleEndian(size), 'latin1');
    res.uncork();
  }
}

/** Adds a part to the text that waits, or sends both; returns the text that waits now. */
function put(res: ServerResponse, waiting: string, part: Buffer, text: string): string {
  if (part.length < LARGE) return waiting + text;
  if (waiting !== '') res.write(waiting, 'latin1');
  res.write(part);
  return '';
}

const STORED_HEAD = 5;
/** The head of a deflate block that is not compressed (RFC 1951, 3.2.4). */
function storedHead(length: number): string {
  const [low, high] = [length & 0xff, length >> 8];
  return String.fromCharCode(0, low, high, ~low & 0xff, ~high & 0xff);
}

const littleEndian = (value: number): string => String.fromCharCode(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff);
