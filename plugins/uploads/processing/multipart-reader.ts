import type { BusboyConfig, BusboyFileStream, BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HttpError, InvalidInput, type Request } from 'parley-forum';
import { MAX_CHUNKS, tooManyChunks } from 'parley-forum/plugins/protection';
import { removeWithRequest } from './temporary-files.ts';

/** A received file. It is at `path` until it is moved away or its request ends. */
export interface ReceivedFile {
  readonly path: string;
  /** As the client sent it. */
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}
/** Why a file is refused, though the rest of its form can be read. */
type Refusal = 'file too large' | 'field too large' | 'too many parts';
/** What a form has in its part named `file`, as plain data: it is part of the request's body. */
export interface ReceivedPart {
  readonly file: ReceivedFile | undefined;
  readonly refused: Refusal | undefined;
}
/** A multipart body. All parts but the file are fields. */
export interface ReceivedForm extends ReceivedPart {
  readonly fields: Readonly<Record<string, string>>;
}

interface MultipartReaderOptions {
  /** Folder of files in progress. */
  readonly folder: string;
  maxSize(): number;
}
/**
 * Bytes beyond the limit that are read and discarded, so that browsers, which read no response before they have sent
 * everything, show the error.
 */
const DRAIN_LIMIT = 32 * 1024 ** 2;
const LIMITS = {
  files: 1,
  fields: 20,
  parts: 21,
  fieldSize: 64 * 1024,
  headerPairs: 50,
  headerSize: 16 * 1024,
} satisfies BusboyConfig['limits'];
/** Bytes for which one more chunk may come, as files are large: those of a network have a thousand bytes and more. */
const SMALL_CHUNK = 512;
const ONE_FILE = 'must be one file, with at most 20 other fields';

/** Reads multipart bodies: the file is streamed to disk and is never in memory as a whole. */
export class MultipartReader {
  readonly #options: MultipartReaderOptions;

  constructor(deps: MultipartReaderOptions) {
    this.#options = deps;
  }

  /** The file of a form; throws where there is none, or it was refused. */
  fileOf({ file, refused }: ReceivedPart): ReceivedFile {
    if (refused) throw this.#refusal(refused);
    if (!file) throw new InvalidInput([{ field: 'file', message: 'is missing: choose a file' }]);
    return file;
  }

  #refusal(refused: Refusal): HttpError {
    if (refused === 'too many parts') return new InvalidInput([{ field: 'file', message: ONE_FILE }]);
    if (refused === 'field too large') return new HttpError(413, 'A field beside the file is too long');
    // What follows the response is not read, so the connection cannot be reused.
    return new HttpError(413, `A file may have at most ${megabytes(this.#options.maxSize())}`, {
      headers: { Connection: 'close' },
    });
  }

  /** Called once for each request. Throws 400, 413 or 415 where nothing of it can be read. */
  async form(req: Request): Promise<ReceivedForm> {
    const maxBytes = this.#options.maxSize();
    const tooLarge = this.#refusal('file too large');
    const parser = await parserOf(req, maxBytes);
    if (Number(req.headers['content-length'] ?? 0) > maxBytes + DRAIN_LIMIT) throw tooLarge;
    const fields: Record<string, string> = {};
    let refused: Refusal | undefined;
    let writing: Promise<ReceivedFile> | undefined;
    let stream: BusboyFileStream | undefined;
    parser.on('field', (name, value, _cut, truncated) => {
      if (truncated) refused ??= 'field too large';
      else if (name !== '__proto__') fields[name] = value;
    });
    parser.on('file', (name, part, given) => {
      part.on('limit', () => (refused ??= 'file too large'));
      // The whole body fails with it; without a listener the process would.
      part.on('error', () => undefined);
      if (name !== 'file') return void part.resume();
      stream = part;
      writing = this.#write(part, given ?? '', req);
      // It is awaited below, perhaps much later.
      writing.catch(() => undefined);
    });
    for (const limit of ['filesLimit', 'fieldsLimit'] as const) parser.on(limit, () => (refused ??= 'too many parts'));
    try {
      await feed(req, parser, {
        maxBytes: maxBytes + DRAIN_LIMIT,
        tooLarge,
        tooManyParts: this.#refusal('too many parts'),
      });
    } catch (error) {
      stream?.destroy(new Error('the upload was broken off'));
      await writing?.catch(() => undefined);
      throw error;
    }
    const file = await writing;
    // Browsers send an empty part for a field in which nothing was chosen.
    return { fields, file: file && (file.name !== '' || file.size > 0) ? file : undefined, refused };
  }

  /** The file is removed when the request ends, unless it was moved away. */
  async #write(part: BusboyFileStream, name: string, req: Request): Promise<ReceivedFile> {
    const { folder } = this.#options;
    const path = join(folder, crypto.randomUUID());
    const sum = createHash('sha256');
    const count = { size: 0 };
    try {
      await mkdir(folder, { recursive: true });
      // Made before the part is read: a file that is still being made when the upload breaks off could not be removed.
      const file = await open(path, 'wx', 0o600);
      await pipeline(
        part,
        (source: AsyncIterable<Buffer>) => hashAndCount(source, sum, count),
        file.createWriteStream(),
      );
    } catch (error) {
      // Otherwise the sender would wait for a reader.
      part.destroy(error as Error);
      await rm(path, { force: true }).catch(() => undefined);
      throw error;
    }
    removeWithRequest(req, path);
    return { path, name, size: count.size, sha256: sum.digest('hex') };
  }
}

/** `5 MiB`, as shown in messages. */
export const megabytes = (bytes: number): string =>
  bytes >= 1024 ** 2 ? `${+(bytes / 1024 ** 2).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;

async function* hashAndCount(
  source: AsyncIterable<Buffer>,
  sum: Hash,
  count: { size: number },
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    sum.update(chunk);
    count.size += chunk.length;
    yield chunk;
  }
}

async function parserOf({ headers }: Request, fileSize: number): Promise<BusboyInstance> {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type) || (headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new HttpError(415, 'Send the file as multipart/form-data, in a part named "file", not compressed');
  }
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits: { ...LIMITS, fileSize } });
  } catch {
    throw malformed('names no boundary');
  }
}

const malformed = (message: string): InvalidInput => new InvalidInput([{ field: 'body', message }]);

const scattered = tooManyChunks();

interface BodyLimits {
  readonly maxBytes: number;
  /** The body has more than `maxBytes` bytes. */
  readonly tooLarge: HttpError;
  /** It has more parts than any form; the rest is discarded unread, as there may be a hundred thousand. */
  readonly tooManyParts: HttpError;
}

/**
 * Resolves when the parser has read the whole body. Each chunk is parsed before the next is read, so that every error
 * it throws is caught.
 */
async function feed(
  req: Request,
  parser: BusboyInstance,
  { maxBytes, tooLarge, tooManyParts: more }: BodyLimits,
): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => void parser.on('finish', resolve).on('error', reject));
  const write = (chunk: Buffer): Promise<void> => new Promise((resolve) => void parser.write(chunk, () => resolve()));
  let [length, chunks] = [0, 0];
  let full = false;
  parser.on('partsLimit', () => (full = true));
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge;
      if (++chunks > MAX_CHUNKS + length / SMALL_CHUNK) throw scattered;
      if (!full) await Promise.race([write(chunk), ended]);
    }
    if (full) throw more;
    parser.end();
    await ended;
  } catch (error) {
    throw error === tooLarge || error === more || error === scattered
      ? error
      : malformed(req.complete ? 'is not multipart/form-data, or ends too early' : 'was broken off');
  }
}
