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
/** Why a file is refused although the rest of its form could be read. */
type Refusal = 'file too large' | 'field too large' | 'too many parts';
/** The part of a form named `file`, as plain data: it becomes part of the request's body. */
export interface ReceivedPart {
  readonly file: ReceivedFile | undefined;
  readonly refused: Refusal | undefined;
}
/** A multipart body. All parts except the file are fields. */
export interface ReceivedForm extends ReceivedPart {
  readonly fields: Readonly<Record<string, string>>;
}

interface MultipartReaderOptions {
  /** Folder for uploads in progress. */
  readonly folder: string;
  maxSize(): number;
}
/**
 * Bytes beyond the limit that are read and discarded, so that browsers show the error: they read no response before
 * they have sent the whole request.
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
/**
 * Bytes for which one additional chunk is accepted, since files are large; chunks from a network have a thousand bytes
 * and more.
 */
const SMALL_CHUNK = 512;
const ONE_FILE = 'must be one file, with at most 20 other fields';

/** Reads multipart bodies. The file is streamed to disk and never held in memory as a whole. */
export class MultipartReader {
  readonly #options: MultipartReaderOptions;

  constructor(deps: MultipartReaderOptions) {
    this.#options = deps;
  }

  /** The file of a form; throws if there is none, or if it was refused. */
  fileOf({ file, refused }: ReceivedPart): ReceivedFile {
    if (refused) throw this.#refusal(refused);
    if (!file) throw new InvalidInput([{ field: 'file', message: 'is missing: choose a file' }]);
    return file;
  }

  #refusal(refused: Refusal): HttpError {
    if (refused === 'too many parts') return new InvalidInput([{ field: 'file', message: ONE_FILE }]);
    if (refused === 'field too large') return new HttpError(413, 'A field sent with the file is too long');
    // The rest of the body is not read, so the connection cannot be reused.
    return new HttpError(413, `A file may be at most ${megabytes(this.#options.maxSize())}`, {
      headers: { Connection: 'close' },
    });
  }

  /** Parses the body; called once per request. Throws 400, 413 or 415 if the body cannot be read. */
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
      // The error also fails the whole body; without a listener it would crash the process.
      part.on('error', () => undefined);
      if (name !== 'file') return void part.resume();
      stream = part;
      writing = this.#write(part, given ?? '', req);
      // Prevents an unhandled rejection: it is awaited below, perhaps much later.
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
      stream?.destroy(new Error('the upload was interrupted'));
      await writing?.catch(() => undefined);
      throw error;
    }
    const file = await writing;
    // Browsers send an empty part for a file field in which nothing was chosen.
    return { fields, file: file && (file.name !== '' || file.size > 0) ? file : undefined, refused };
  }

  /** Writes the file to disk; it is removed when the request ends, unless it was moved away. */
  async #write(part: BusboyFileStream, name: string, req: Request): Promise<ReceivedFile> {
    const { folder } = this.#options;
    const path = join(folder, crypto.randomUUID());
    const sum = createHash('sha256');
    const count = { size: 0 };
    try {
      await mkdir(folder, { recursive: true });
      // Created before the part is read: if the upload is aborted, a file still being created could not be removed.
      const file = await open(path, 'wx', 0o600);
      await pipeline(
        part,
        (source: AsyncIterable<Buffer>) => hashAndCount(source, sum, count),
        file.createWriteStream(),
      );
    } catch (error) {
      // Otherwise the parser would wait for a reader.
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
    throw malformed('has no boundary');
  }
}

const malformed = (message: string): InvalidInput => new InvalidInput([{ field: 'body', message }]);

const scattered = tooManyChunks();

interface BodyLimits {
  readonly maxBytes: number;
  /** Thrown if the body has more than `maxBytes` bytes. */
  readonly tooLarge: HttpError;
  /**
   * Thrown if it has more parts than any form; the rest is discarded unparsed, since there may be a hundred thousand.
   */
  readonly tooManyParts: HttpError;
}

/**
 * Resolves when the parser has consumed the whole body. Each chunk is parsed before the next is read, so that every
 * error that the parser throws is caught.
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
      : malformed(req.complete ? 'is not multipart/form-data, or ends too early' : 'was interrupted');
  }
}
