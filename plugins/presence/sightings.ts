import { messageOf, type Logger, type Secrets } from 'parley-forum';
import type { PageViewListener } from 'parley-forum/plugins/web';
import { crawlerOf } from './crawlers.ts';
import type { Visit, Visits } from './visits.ts';
import type { Whereabouts } from './whereabouts.ts';

/** Milliseconds for which page views are gathered: what a process has seen is known to the others this much later. */
const GATHER = 250;
/** Page views of different visitors that wait at most; what is above is not counted. */
const MOST = 20_000;

type Seen = Parameters<PageViewListener['onPageView']>[0];
type Guest = Pick<Seen, 'ip' | 'userAgent' | 'key'>;

export interface SightingsParts {
  readonly visits: Visits;
  readonly whereabouts: Whereabouts;
  readonly secrets: Secrets;
  readonly log: Logger;
  /** Called when what was known of visitors no longer holds. */
  changed(): void;
}

/** Notes page views down and stores them in the background: no page waits for it. */
export class Sightings implements PageViewListener {
  readonly #parts: SightingsParts;
  #waiting = new Map<string, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(parts: SightingsParts) {
    this.#parts = parts;
  }

  readonly onPageView = (page: Seen): void => {
    if (this.#waiting.size >= MOST) return;
    const { viewer, key, ip: address, userAgent } = page;
    // Whoever asks has all that waits stored first, so once is enough until then.
    if (this.#waiting.size === 0) this.#parts.changed();
    this.#waiting.set(viewer.id ?? key ?? `${address} ${userAgent}`, page);
    this.#timer ??= setTimeout(() => void this.flush(), GATHER).unref();
  };

  /** Resolves when everything seen so far is stored; what cannot be stored is forgotten. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size === 0) return this.#storing;
    const waiting = [...this.#waiting.values()];
    this.#waiting = new Map();
    const { visits, log } = this.#parts;
    this.#storing = this.#storing
      .then(() => visits.record(waiting.map((page) => this.#visit(page))))
      .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'who is here could not be stored'));
    return this.#storing;
  }

  /**
   * Under what a guest may be known, the surest first. No address and no token is kept, only digests that nobody else
   * can make.
   */
  guestIds({ key, ip: address, userAgent }: Guest): readonly string[] {
    const sign = (text: string): string => this.#parts.secrets.sign('presence', text);
    const plain = sign(`${address} ${userAgent}`);
    return key === undefined ? [plain] : [sign(key), plain];
  }

  #visit({ path, viewer, ...guest }: Seen): Visit {
    const page = this.#parts.whereabouts.pathOf(path);
    if (viewer.id !== undefined) return { kind: 'member', id: viewer.id, page };
    const crawler = crawlerOf(guest.userAgent);
    if (crawler !== undefined) return { kind: 'bot', id: crawler, page };
    const [id = '', before] = this.guestIds(guest);
    return { kind: 'guest', id, before, page };
  }
}
