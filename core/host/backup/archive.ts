import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { openPromise, type Entry, type ZipFile as ZipReader } from 'yauzl';
import { ZipFile } from 'yazl';
import { ConfigurationError, messageOf } from '../../errors.ts';

/** Writes a ZIP file under a temporary name, and renames it once it is complete. */
export class ArchiveWriter implements AsyncDisposable {
  readonly #zip = new ZipFile();
  readonly #partial: string;
  readonly #path: string;
  readonly #written: Promise<void>;
  /** Rejects if writing fails, and stays pending otherwise. */
  readonly #failed: Promise<never>;

  /** The file is readable only by its owner, because it contains keys. */
  constructor(path: string) {
    this.#path = path;
    this.#partial = `${path}.partial`;
    const packed = this.#zip.outputStream as Readable;
    this.#zip.on('error', (error: Error) => packed.destroy(error));
    this.#written = pipeline(packed, createWriteStream(this.#partial, { mode: 0o600, flags: 'w', flush: true }));
    this.#failed = this.#written.then(() => new Promise<never>(() => undefined));
    // The rejection is reported by the next operation, so it must not count as unhandled.
    this.#failed.catch(() => undefined);
  }

  /** Adds a file of lines, with backpressure. */
  async addLines(name: string, chunks: AsyncIterable<readonly string[]>): Promise<void> {
    const lines = new PassThrough();
    this.#zip.addReadStream(lines, name);
    for await (const chunk of chunks)
      if (!lines.write(chunk.map((line) => `${line}\n`).join('')))
        await Promise.race([once(lines, 'drain'), this.#failed]);
    lines.end();
  }

  addText(name: string, text: string): void {
    this.#zip.addBuffer(Buffer.from(text), name);
  }

  addFile(name: string, path: string): void {
    this.#zip.addFile(path, name);
  }

  async end(): Promise<void> {
    this.#zip.end();
    await this.#written;
    await rename(this.#partial, this.#path);
  }

  /** Deletes the temporary file if the archive was not completed. */
  async [Symbol.asyncDispose](): Promise<void> {
    (this.#zip.outputStream as Readable).destroy();
    await this.#written.catch(() => undefined);
    await rm(this.#partial, { force: true });
  }
}

/** An open ZIP file that has been verified. */
export interface Archive extends AsyncDisposable {
  readonly names: readonly string[];
  text(name: string): Promise<string>;
  /** The lines as they were added, though in chunks of different sizes. */
  lines(name: string): AsyncIterable<readonly string[]>;
  /** Writes the file to `path`, whose folder must exist. */
  extract(name: string, path: string): Promise<void>;
}

/**
 * Opens an archive and reads all of it once to verify it. Throws `ConfigurationError` if the file does not exist, is
 * not an archive or is damaged.
 */
export async function openArchive(path: string): Promise<Archive> {
  try {
    const zip = await openPromise(path, { autoClose: false, lazyEntries: true });
    return await readArchive(zip).catch((error: unknown) => {
      zip.close();
      throw error;
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ConfigurationError(`There is no file ${path}`);
    const remedy = 'it is not a backup, or is incomplete';
    throw new ConfigurationError(`${path} cannot be read: ${messageOf(error)}; ${remedy}`, { cause: error });
  }
}

async function readArchive(zip: ZipReader): Promise<Archive> {
  const entries = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
  const open = async (name: string): Promise<Readable> => {
    const entry = entries.get(name);
    if (!entry) throw new ConfigurationError(`the archive has no ${name}`);
    return zip.openReadStreamPromise(entry);
  };
  for (const [name, { crc32: sum }] of entries) {
    let found = 0;
    for await (const chunk of (await open(name)) as AsyncIterable<Buffer>) found = crc32(chunk, found);
    if (found !== sum) throw new Error(`${name} is damaged`);
  }
  return {
    names: [...entries.keys()],
    text: async (name) => Buffer.concat(await (await open(name)).toArray()).toString(),
    lines: async function* (name) {
      let rest = '';
      for await (const chunk of (await open(name)).setEncoding('utf8') as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        if (lines.length > 0) yield lines;
      }
    },
    extract: async (name, target) => pipeline(await open(name), createWriteStream(target, { mode: 0o600 })),
    [Symbol.asyncDispose]: async () => zip.close(),
  };
}
