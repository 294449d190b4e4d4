import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { makeCacheFolder, messageOf, type Cache, type Logger } from 'parley-forum';
import { CACHE_TAGS, ROOT_DOCUMENT, type Sitemap } from './sitemap.ts';

interface SitemapFilesDeps {
  readonly sitemap: Sitemap;
  readonly cache: Cache;
  /** The folder that the files are written to. */
  readonly folder: string;
  readonly log: Logger;
  enabled(): boolean;
}
/** Milliseconds between checks whether the files are still current. */
const CHECK_INTERVAL = 1_000;
/**
 * The next run waits this many times as long as the previous one took, so that a large forum that changes constantly is
 * not written constantly.
 */
const REST_FACTOR = 10;
/** Milliseconds before another attempt after a failure. */
const RETRY_DELAY = 60_000;
/** Cached while the files are current: a purge of anything they contain drops it too. */
const CACHE_KEY = 'sitemap.files';

/**
 * Writes copies of the sitemap for a reverse proxy to serve. Each file is current or was so a moment ago, and never
 * half written.
 */
export class SitemapFiles {
  readonly #deps: SitemapFilesDeps;

  constructor(deps: SitemapFilesDeps) {
    this.#deps = deps;
  }

  /** Starts writing. The returned function stops it and resolves when nothing is being written any more. */
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
      const { cache, folder, log, enabled } = this.#deps;
      const start = performance.now();
      if (start < next || (enabled() && cache.peek(CACHE_KEY))) continue;
      try {
        if (!enabled()) await this.#remove([]);
        else {
          await this.#write(signal);
          next = performance.now() + (performance.now() - start) * REST_FACTOR;
        }
      } catch (error) {
        log.warn(
          { error: messageOf(error), folder },
          'the sitemap could not be written to files; check whether the folder is writable',
        );
        next = performance.now() + RETRY_DELAY;
      }
    }
  }

  /** Writes the parts first, then their index, and then removes files that the index no longer names. */
  async #write(signal: AbortSignal): Promise<void> {
    const { cache, folder, sitemap } = this.#deps;
    const cacheVersion = cache.version();
    const parts = await sitemap.parts();
    await makeCacheFolder(folder);
    await mkdir(join(folder, 'sitemaps'), { recursive: true });
    for (const name of parts) {
      if (signal.aborted) return;
      await this.#put(name, join(folder, 'sitemaps', `${name}.xml`));
    }
    await this.#put(ROOT_DOCUMENT, join(folder, 'sitemap.xml'));
    await this.#remove(parts);
    cache.set(CACHE_KEY, CACHE_TAGS, true, cacheVersion, { bytes: 256 });
  }

  async #put(name: string, path: string): Promise<void> {
    const document = await this.#deps.sitemap.document(name);
    const temporary = `${path}.${process.pid}.new`;
    await pipeline(Readable.from([document]), createGunzip(), createWriteStream(temporary));
    await rename(temporary, path);
  }

  async #remove(current: readonly string[]): Promise<void> {
    const { folder, enabled } = this.#deps;
    const parts = await readdir(join(folder, 'sitemaps')).catch(() => []);
    const left = parts.filter((file) => file.endsWith('.xml') && !current.includes(basename(file, '.xml')));
    for (const file of left) await rm(join(folder, 'sitemaps', file), { force: true });
    if (!enabled()) await rm(join(folder, 'sitemap.xml'), { force: true });
  }
}

/** Resolves to false as soon as the signal is aborted. */
const pause = (signal: AbortSignal): Promise<boolean> =>
  wait(CHECK_INTERVAL, true, { signal, ref: false }).catch(() => false);
