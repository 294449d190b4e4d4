import type { Request, Response } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * How many bytes may be buffered for a slow client before the next message: many messages of ordinary length, or one
 * with a long post.
 */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** How long a client may take to receive a page of missed events, in milliseconds. */
const DRAIN_TIMEOUT = 10_000;

export interface StreamInit {
  readonly req: Request;
  readonly res: Response;
  readonly viewer: Viewer;
  /** Names of the requested messages; undefined: all. */
  readonly names: ReadonlySet<string> | undefined;
  /** If set, only messages about this discussion are sent. */
  readonly discussion: string | undefined;
  /** Version of the page that is listening. */
  readonly version: string | undefined;
}

/** A message that a stream may send. */
export interface Message {
  readonly name: string;
  readonly data: object;
}

interface Payload {
  readonly discussion?: { readonly id?: string } | null;
  readonly post?: { readonly discussion_id?: string };
  readonly discussion_id?: string;
  /** The discussion from which something was moved to the other one. */
  readonly source?: { readonly id?: string } | null;
}
/** The discussions that a message is about, by the keys that all payloads use. */
const discussionsOf = ({ discussion, post, discussion_id: id, source }: Payload): readonly (string | undefined)[] => [
  discussion?.id ?? post?.discussion_id ?? id,
  source?.id,
];

/** One open response of /api/live. */
export class Stream {
  readonly req: Request;
  viewer: Viewer;
  /** Version of the listening page, or the last version it was notified of. */
  version: string | undefined;
  /** Position of the last event sent. */
  position = 0;
  /** False while missed events are being sent. */
  current = false;
  /** Replaced when the member's account changes: see `Callers`. */
  stamp: object | undefined;
  readonly #res: Response;
  readonly #names: ReadonlySet<string> | undefined;
  readonly #discussion: string | undefined;

  constructor({ req, res, viewer, names, discussion, version }: StreamInit) {
    this.req = req;
    this.viewer = viewer;
    this.version = version;
    this.#res = res;
    this.#names = names;
    this.#discussion = discussion;
  }

  get open(): boolean {
    return !this.#res.writableEnded && !this.#res.destroyed;
  }

  get names(): readonly string[] | undefined {
    return this.#names && [...this.#names];
  }

  /** Whether the stream should send the message. Personal messages are accepted whatever discussion they are about. */
  accepts({ name, data }: Message, personal = false): boolean {
    if (this.#names && !this.#names.has(name)) return false;
    return personal || this.#discussion === undefined || discussionsOf(data).includes(this.#discussion);
  }

  /**
   * Disconnects a client that has not received earlier messages: it reconnects when it can, and resumes where it was.
   */
  send(text: string | Buffer): void {
    if (!this.open) return;
    if (this.#res.writableLength > MAX_BUFFERED_BYTES) this.#res.destroy();
    else this.#res.write(text);
  }

  /** Resolves when the client has received what was sent, or has disconnected. */
  async drained(): Promise<void> {
    if (!this.open || !this.#res.writableNeedDrain) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.#res.destroy(), DRAIN_TIMEOUT);
    this.#res.once('drain', resolve).once('close', resolve);
    await promise;
    this.#res.off('drain', resolve).off('close', resolve);
    clearTimeout(timer);
  }

  /** Ends the response; browsers reconnect by themselves after `retry` milliseconds. */
  end(retry: number): void {
    if (!this.open) return;
    if (this.#res.writableNeedDrain) this.#res.destroy();
    else this.#res.end(`retry: ${retry}\n\n`);
  }
}
