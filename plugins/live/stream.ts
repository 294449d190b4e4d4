import type { Request, Response } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * Bytes that may wait for a slow reader before the next message: many messages of ordinary length, or one of a long
 * post.
 */
const BUFFER = 64 * 1024;

/** Milliseconds a reader has for taking a part of what it missed. */
const PATIENCE = 10_000;

export interface StreamOptions {
  readonly req: Request;
  readonly res: Response;
  readonly viewer: Viewer;
  /** Names of the messages that are wanted; undefined: all. */
  readonly names: ReadonlySet<string> | undefined;
  /** The discussion that is wanted alone. */
  readonly discussion: string | undefined;
}

/** Something of which streams tell those who want it. */
export interface Message {
  readonly name: string;
  readonly data: object;
}

interface About {
  readonly discussion?: { readonly id?: string };
  readonly post?: { readonly discussion_id?: string };
  readonly discussion_id?: string;
}
/** The discussion that a message is about, by the keys that all payloads use. */
const discussionOf = (data: About): string | undefined =>
  data.discussion?.id ?? data.post?.discussion_id ?? data.discussion_id;

/** One open answer of /api/live. */
export class Stream {
  readonly req: Request;
  viewer: Viewer;
  /** What was told last of the log. */
  position = 0;
  /** False while what was missed is being told. */
  current = false;
  /** Changes with the account of its member: see `Callers`. */
  stamp: object | undefined;
  readonly #res: Response;
  readonly #names: ReadonlySet<string> | undefined;
  readonly #discussion: string | undefined;

  constructor({ req, res, viewer, names, discussion }: StreamOptions) {
    this.req = req;
    this.viewer = viewer;
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

  /** What is for its member alone is wanted whatever discussion it is about. */
  wants({ name, data }: Message, personal = false): boolean {
    if (this.#names && !this.#names.has(name)) return false;
    return personal || this.#discussion === undefined || discussionOf(data) === this.#discussion;
  }

  /** A reader that has not taken what came before is cut off: it comes back when it can, and goes on where it was. */
  send(text: string | Buffer): void {
    if (!this.open) return;
    if (this.#res.writableLength > BUFFER) this.#res.destroy();
    else this.#res.write(text);
  }

  /** Resolves when its reader has taken what was sent, or is gone. */
  async taken(): Promise<void> {
    if (!this.open || !this.#res.writableNeedDrain) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.#res.destroy(), PATIENCE);
    this.#res.once('drain', resolve).once('close', resolve);
    await promise;
    this.#res.off('drain', resolve).off('close', resolve);
    clearTimeout(timer);
  }

  /** Ends the answer; browsers come back by themselves after `retry` milliseconds. */
  end(retry: number): void {
    if (!this.open) return;
    if (this.#res.writableNeedDrain) this.#res.destroy();
    else this.#res.end(`retry: ${retry}\n\n`);
  }
}
