import type { BusboyFileStream, BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HttpError, InvalidInput, type Request } from 'parley-forum';

/** A received file. It is at `path` until it is moved away or its request ends. */
export interface ReceivedFile {
  readonly path: string;
  /** As the client sent it. */
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}
/** A multipart body. The file is the part named `file`; all others are fields. */
export interface ReceivedForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly file: ReceivedFile | undefined;
  /** Why the file is refused, though the rest of the form can be read. */
  readonly refused: HttpError | undefined;
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
const LIMITS = { files: 1, fields: 20, deps: 21, fieldSize: 64 * 1024, headerPairs: 50, headerSize: 16 * 1024 };
const ONE_FILE = 'must be one file, with at most 20 other fields';

/** Reads multipart bodies: the file is streamed to disk and is never in memory as a whole. */
export class MultipartReader {
  readonly #options: MultipartReaderOptions;
  readonly #forms = new WeakMap<Request, Promise<ReceivedForm>>();

  constructor(deps: MultipartReaderOptions) {
    this.#options = deps;
  }

  /** Read once for each request. Throws 400, 413 or 415 where nothing of it can be read. */
  form(req: Request): Promise<ReceivedForm> {
    let form = this.#forms.get(req);
    if (!form) this.#forms.set(req, (form = this.#read(req)));
    return form;
  }

  /** The file of the request's form; throws where there is none, or it was refused. */
  async file(req: Request): Promise<ReceivedFile> {
    const { file, refused } = await this.form(req);
    if (refused) throw refused;
    if (!file) throw new InvalidInput([{ field: 'file', message: 'is missing: choose a file' }]);
    return file;
  }

  async #read(req: Request): Promise<ReceivedForm> {
    const maxBytes = this.#options.maxSize();
    // What follows the response is not read, so the connection cannot be reused.
    const tooLarge = new HttpError(413, `A file may have at most ${megabytes(maxBytes)}`, {
      headers: { Connection: 'close' },
    });
    const parser = await parserOf(req, maxBytes);
    if (Number(req.headers['content-length'] ?? 0) > maxBytes + DRAIN_LIMIT) throw tooLarge;
    const fields: Record<string, string> = {};
    let refused: HttpError | undefined;
    let writing: Promise<ReceivedFile> | undefined;
    let stream: BusboyFileStream | undefined;
    parser.on('field', (name, value, _cut, truncated) => {
      if (truncated) refused ??= new HttpError(413, `The field ${name} is too long`);
      else if (name !== '__proto__') fields[name] = value;
    });
    parser.on('file', (name, part, given) => {
      part.on('limit', () => (refused ??= tooLarge));
      // The whole body fails with it; without a listener the process would.
      part.on('error', () => undefined);
      if (name !== 'file') return void part.resume();
      stream = part;
      writing = this.#write(part, given ?? '', req);
      // It is awaited below, perhaps much later.
      writing.catch(() => undefined);
    });
    const more = new InvalidInput([{ field: 'file', message: ONE_FILE }]);
    for (const limit of ['filesLimit', 'fieldsLimit'] as const) parser.on(limit, () => (refused ??= more));
    try {
      await feed(req, parser, { maxBytes: maxBytes + DRAIN_LIMIT, tooLarge, tooManyParts: more });
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
    const remove = (): void => void rm(path, { force: true }).catch(() => undefined);
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
      remove();
      throw error;
    }
    if (req.res?.closed ?? true) remove();
    else req.res?.once('close', remove);
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
  let length = 0;
  let full = false;
  parser.on('partsLimit', () => (full = true));
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge;
      if (!full) await Promise.race([write(chunk), ended]);
    }
    if (full) throw more;
    parser.end();
    await ended;
  } catch (error) {
    throw error === tooLarge || error === more
      ? error
      : malformed(req.complete ? 'is not multipart/form-data, or ends too early' : 'was broken off');
  }
}
