import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { messageOf, type Cache, type Logger } from 'parley-forum';
import { SHOWN, WHOLE, type Sitemap } from './sitemap.ts';

interface SitemapFilesDeps {
  readonly sitemap: Sitemap;
  readonly cache: Cache;
  /** Where the files lie. */
  readonly folder: string;
  readonly log: Logger;
  wanted(): boolean;
}
/** Milliseconds between two looks whether the files are still right. */
const CHECK_INTERVAL = 1_000;
/**
 * How many times as long as it took it is left alone: a large forum that changes all the time is not written all the
 * time.
 */
const REST_FACTOR = 10;
/** Milliseconds after which what failed is tried again. */
const RETRY_DELAY = 60_000;
/** Held as long as the files are right: a purge of anything in them drops it too. */
const NOTE = 'sitemap.files';

/** Copies of the sitemap for a web server in front. Each is right or was so a moment ago; none is ever half written. */
export class SitemapFiles {
  readonly #parts: SitemapFilesDeps;

  constructor(parts: SitemapFilesDeps) {
    this.#parts = parts;
  }

  /** Resolves what it returns when nothing is written any more. */
  start(): () => Promise<void> {
    const end = new AbortController();
    const done = this.#watch(end.signal);
    return () => {
      end.abort();
      return done;
    };
  }

  async #watch(signal: AbortSignal): Promise<void> {
    for (let next = 0; await pause(signal);) {
      const { cache, folder, log, wanted } = this.#parts;
      const start = performance.now();
      if (start < next || (wanted() && cache.peek(NOTE))) continue;
      try {
        if (!wanted()) await this.#remove([]);
        else {
          await this.#write(signal);
          next = performance.now() + (performance.now() - start) * REST_FACTOR;
        }
      } catch (error) {
        log.warn(
          { error: messageOf(error), folder },
          'the sitemap could not be written to files; see whether the folder may be written to',
        );
        next = performance.now() + RETRY_DELAY;
      }
    }
  }

  /** The parts first, then what names them, then what nobody names any more. */
  async #write(signal: AbortSignal): Promise<void> {
    const { cache, folder, sitemap } = this.#parts;
    const mark = cache.mark();
    const parts = await sitemap.parts();
    await mkdir(join(folder, 'sitemaps'), { recursive: true });
    for (const name of parts) {
      if (signal.aborted) return;
      await this.#put(name, join(folder, 'sitemaps', `${name}.xml`));
    }
    await this.#put(WHOLE, join(folder, 'sitemap.xml'));
    await this.#remove(parts);
    cache.keep(NOTE, SHOWN, true, mark, { bytes: 256 });
  }

  async #put(name: string, path: string): Promise<void> {
    const document = await this.#parts.sitemap.document(name);
    const fresh = `${path}.${process.pid}.new`;
    await pipeline(Readable.from([document]), createGunzip(), createWriteStream(fresh));
    await rename(fresh, path);
  }

  async #remove(kept: readonly string[]): Promise<void> {
    const { folder, wanted } = this.#parts;
    const parts = await readdir(join(folder, 'sitemaps')).catch(() => []);
    const left = parts.filter((file) => file.endsWith('.xml') && !kept.includes(basename(file, '.xml')));
    for (const file of left) await rm(join(folder, 'sitemaps', file), { force: true });
    if (!wanted()) await rm(join(folder, 'sitemap.xml'), { force: true });
  }
}

/** False as soon as it shall end. */
const pause = (signal: AbortSignal): Promise<boolean> =>
  wait(CHECK_INTERVAL, true, { signal, ref: false }).catch(() => false);
