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
  /** Where the files lie. */
  readonly folder: string;
  readonly log: Logger;
  enabled(): boolean;
}
/** Milliseconds between two checks whether the files are still current. */
const CHECK_INTERVAL = 1_000;
/**
 * How many times as long as it took the next run waits: a large forum that changes all the time is not written all the
 * time.
 */
const REST_FACTOR = 10;
/** Milliseconds before another attempt after a failure. */
const RETRY_DELAY = 60_000;
/** Cached as long as the files are current: a purge of anything in them drops it too. */
const CACHE_KEY = 'sitemap.files';

/** Copies of the sitemap for a web server in front. Each is current or was so a moment ago; none is ever half written. */
export class SitemapFiles {
  readonly #deps: SitemapFilesDeps;

  constructor(deps: SitemapFilesDeps) {
    this.#deps = deps;
  }

  /** The returned function resolves when nothing is written any more. */
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
          'the sitemap could not be written to files; see whether the folder may be written to',
        );
        next = performance.now() + RETRY_DELAY;
      }
    }
  }

  /** The parts first, then their index, then the removal of what it no longer names. */
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

/** False as soon as it shall end. */
const pause = (signal: AbortSignal): Promise<boolean> =>
  wait(CHECK_INTERVAL, true, { signal, ref: false }).catch(() => false);
