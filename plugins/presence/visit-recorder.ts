import { messageOf, type Logger, type Secrets } from 'parley-forum';
import type { PageViewListener } from 'parley-forum/plugins/web';
import { crawlerOf } from './crawlers.ts';
import type { Visit, VisitorStore } from './visitor-store.ts';
import type { PageVisibility } from './page-visibility.ts';

/** Milliseconds for which page views are batched; other processes see them with this delay. */
const BATCH_DELAY = 250;
/** The maximum number of visitors in a batch; further ones are not counted. */
const MAX_PENDING = 20_000;

type PageView = Parameters<PageViewListener['onPageView']>[0];
type Guest = Pick<PageView, 'ip' | 'userAgent' | 'key'>;

export interface VisitRecorderDeps {
  readonly store: VisitorStore;
  readonly pageVisibility: PageVisibility;
  readonly secrets: Secrets;
  readonly log: Logger;
  /** Called when cached visitors become stale. */
  changed(): void;
}

/** Collects page views and stores them in the background, so that no page waits for it. */
export class VisitRecorder implements PageViewListener {
  readonly #deps: VisitRecorderDeps;
  #pending = new Map<string, PageView>();
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(deps: VisitRecorderDeps) {
    this.#deps = deps;
  }

  readonly onPageView = (page: PageView): void => {
    if (this.#pending.size >= MAX_PENDING) return;
    const { viewer, key, ip: address, userAgent } = page;
    // Queries flush first, so once per batch is enough.
    if (this.#pending.size === 0) this.#deps.changed();
    this.#pending.set(viewer.id ?? key ?? `${address} ${userAgent}`, page);
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_DELAY).unref();
  };

  /** Resolves when everything seen so far is stored; what cannot be stored is dropped. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size === 0) return this.#storing;
    const pending = [...this.#pending.values()];
    this.#pending = new Map();
    const { store, log } = this.#deps;
    this.#storing = this.#storing
      .then(() => store.record(pending.map((page) => this.#visit(page))))
      .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'presence could not be stored'));
    return this.#storing;
  }

  /** The possible ids of a guest, most certain first. Only keyed digests are stored, never an IP address or token. */
  guestIds({ key, ip: address, userAgent }: Guest): readonly string[] {
    const sign = (text: string): string => this.#deps.secrets.sign('presence', text);
    const plain = sign(`${address} ${userAgent}`);
    return key === undefined ? [plain] : [sign(key), plain];
  }

  #visit({ path, viewer, ...guest }: PageView): Visit {
    const page = this.#deps.pageVisibility.pathOf(path);
    if (viewer.id !== undefined) return { kind: 'member', id: viewer.id, page };
    const crawler = crawlerOf(guest.userAgent);
    if (crawler !== undefined) return { kind: 'bot', id: crawler, page };
    const [id = '', before] = this.guestIds(guest);
    return { kind: 'guest', id, before, page };
  }
}
