import type { Cache, Logger } from 'parley-forum';
import { isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import { signalFrame } from './frames.ts';
import type { Message, Stream } from './stream.ts';

/** Milliseconds after which the reader of an ended stream reconnects, with whatever session it has then. */
const RETRY_DELAY = 2_000;

/** The last that a stream tells whose session or token is over. */
export const ENDED = { name: 'session.ended', data: {} } as const satisfies Message;

/** The session or token of who reads it is over. */
export function endStream(stream: Stream): void {
  if (stream.accepts(ENDED)) stream.send(signalFrame(ENDED.name, ENDED.data));
  stream.end(RETRY_DELAY);
}

export interface CallersDeps {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly cache: Cache;
  readonly log: Logger;
}

/** Knows whether those who opened streams may still see what they could see then. */
export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** To be called when a stream opens: its caller has just been authenticated. */
  track(stream: Stream): void {
    stream.stamp = this.#stamp(stream.viewer);
  }

  /** Ends the streams whose session or token is over, and takes over what changed of the others' members. */
  async reauthenticate(streams: Iterable<Stream>): Promise<void> {
    const members = [...streams].filter(({ viewer }) => !isGuest(viewer));
    await Promise.all(members.map((stream) => this.#reauthenticate(stream)));
  }

  /** As `reauthenticate`, only for those whose account has changed in any process since the last time. */
  async refresh(streams: Iterable<Stream>): Promise<void> {
    await this.reauthenticate(
      [...streams].filter(({ viewer, stamp }) => !isGuest(viewer) && stamp !== this.#cached(viewer)),
    );
    await this.#deps.access.refresh();
  }

  /** Streams by what their viewers may see, each group with one viewer that stands for it. */
  groups(streams: Iterable<Stream>): readonly { readonly viewer: Viewer; readonly streams: readonly Stream[] }[] {
    const { access } = this.#deps;
    const groups = Map.groupBy(
      streams,
      ({ viewer }) => `${isGuest(viewer) ? 'guest' : 'member'}:${access.signature(viewer)}`,
    );
    return [...groups.values()].map((group) => ({ viewer: this.current(group[0]!), streams: group }));
  }

  /** Who reads it, with the group as it is now. */
  current({ viewer }: Stream): Viewer {
    const { access } = this.#deps;
    return isGuest(viewer)
      ? access.guest
      : { ...viewer, group: access.group(viewer.group.id) ?? access.groupOf('guest') };
  }

  async #reauthenticate(stream: Stream): Promise<void> {
    const { sessions, log } = this.#deps;
    const token = bearerToken(stream.req);
    // Taken first, so that a change meanwhile counts.
    const stamp = this.#stamp(stream.viewer);
    try {
      const viewer =
        token === undefined ? await sessions.reauthenticate(stream.req) : await sessions.authenticateBearer(token);
      if (viewer?.id !== stream.viewer.id) return endStream(stream);
      Object.assign(stream, { viewer, stamp });
    } catch (error) {
      log.warn({ error }, 'who reads a stream could not be made sure of; it is ended');
      stream.end(RETRY_DELAY);
    }
  }

  #cached({ id }: Viewer): object | undefined {
    return this.#deps.cache.peek<object>(`live.caller:${id}`);
  }

  /** The same object until something about the member's account changes, wherever that happens. */
  #stamp(viewer: Viewer): object {
    const { cache } = this.#deps;
    const cached = this.#cached(viewer);
    if (cached || isGuest(viewer)) return cached ?? {};
    const stamp = {};
    cache.set(`live.caller:${viewer.id}`, [accountTag(viewer.id)], stamp, cache.version(), { bytes: 256 });
    return stamp;
  }
}
