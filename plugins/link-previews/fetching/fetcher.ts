import { messageOf, type JobDelivery, type Logger } from 'parley-forum';
import type { Limits } from 'parley-forum/plugins/limits';
import type { Thumbnail, Thumbnails } from 'parley-forum/ports/pictures';
import type { FetchedPage, PreviewStore } from '../preview-store.ts';
import type { Downloader } from './downloader.ts';
import { summarise } from './page-summary.ts';

/** Pixels of each side of a thumbnail: enough for a high-density screen. */
const PICTURE_SIDE = 240;
const MINUTE = { name: 'link-previews', window: 60 };

/** A page to fetch. `host` is the job's key, so that no server gets requests from many jobs at a time. */
export interface FetchJob {
  readonly id: string;
  readonly host: string;
}
interface FetcherDeps {
  readonly store: PreviewStore;
  readonly limits: Pick<Limits, 'consume'>;
  readonly downloader: Downloader;
  /** Undefined if cards have no pictures. */
  readonly thumbnails: Thumbnails | undefined;
  readonly log: Logger;
  enabled(): boolean;
  /** Called when the posts with this preview may look different. */
  changed(id: string): Promise<void>;
  /** Maximum pages per minute, over all hosts. */
  rate(): number;
}

/** Runs the jobs that fetch pages. No transaction is open during a request. */
export class Fetcher {
  readonly #deps: FetcherDeps;

  constructor(deps: FetcherDeps) {
    this.#deps = deps;
  }

  /** Does nothing while previews are off: due pages stay due. */
  async run(job: FetchJob, { signal, continueWith }: JobDelivery<FetchJob>): Promise<void> {
    const { store, limits, enabled, rate } = this.#deps;
    const url = enabled() ? await store.due(job.id) : undefined;
    if (url === undefined) return;
    const { allowed, resetAt } = await limits.consume(MINUTE, 'all', rate());
    if (!allowed) return continueWith(job, { after: Math.max(1, Math.ceil((resetAt - Date.now()) / 1_000)) });
    if (await store.save(job.id, await this.#fetch(new URL(url), signal))) await this.#deps.changed(job.id);
  }

  /** Rejects only when `signal` aborts. */
  async #fetch(url: URL, signal: AbortSignal): Promise<FetchedPage | undefined> {
    const { downloader, log } = this.#deps;
    try {
      const page = await downloader.page(url, signal);
      const found = summarise(page.text, page.url);
      return found && { ...found, picture: await this.#picture(found.pictureUrl, signal) };
    } catch (error) {
      signal.throwIfAborted();
      log.info({ host: url.host, problem: messageOf(error) }, 'a page for a link preview could not be fetched');
      return undefined;
    }
  }

  /** Undefined if there is no usable picture: a card is worth showing without one. */
  async #picture(url: URL | undefined, signal: AbortSignal): Promise<Thumbnail | undefined> {
    const { downloader, thumbnails, log } = this.#deps;
    if (!url || !thumbnails) return undefined;
    try {
      return await thumbnails.square(await downloader.picture(url, signal), PICTURE_SIDE);
    } catch (error) {
      signal.throwIfAborted();
      log.info({ host: url.host, problem: messageOf(error) }, 'a picture for a link preview could not be fetched');
      return undefined;
    }
  }
}
