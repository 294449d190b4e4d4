import type { Cache, Logger } from 'parley-forum';
import { isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import { signalFrame } from './frames.ts';
import type { Message, Stream } from './stream.ts';

/** Milliseconds after which the client of an ended stream reconnects, with whatever session it has then. */
const RETRY_DELAY = 2_000;

/** The last message on a stream whose session or token has ended. */
export const ENDED = { name: 'session.ended', data: {} } as const satisfies Message;

/** Ends a stream because the session or token of its client has ended. */
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

/** Checks whether the clients that opened streams may still see what they could see when they connected. */
export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** Must be called when a stream opens, right after its caller was authenticated. */
  track(stream: Stream): void {
    stream.stamp = this.#stamp(stream.viewer);
  }

  /** Ends streams whose session or token has ended, and updates the viewers of the others. */
  async reauthenticate(streams: Iterable<Stream>): Promise<void> {
    const members = [...streams].filter(({ viewer }) => !isGuest(viewer));
    await Promise.all(members.map((stream) => this.#reauthenticate(stream)));
  }

  /** Like `reauthenticate`, but only for members whose account has changed since the last time, in any process. */
  async refresh(streams: Iterable<Stream>): Promise<void> {
    await this.reauthenticate(
      [...streams].filter(({ viewer, stamp }) => !isGuest(viewer) && stamp !== this.#cached(viewer)),
    );
    await this.#deps.access.refresh();
  }

  /** Groups streams by what their viewers may see, each group with one representative viewer. */
  groups(streams: Iterable<Stream>): readonly { readonly viewer: Viewer; readonly streams: readonly Stream[] }[] {
    const { access } = this.#deps;
    const groups = Map.groupBy(
      streams,
      ({ viewer }) => `${isGuest(viewer) ? 'guest' : 'member'}:${access.signature(viewer)}`,
    );
    return [...groups.values()].map((group) => ({ viewer: this.current(group[0]!), streams: group }));
  }

  /** The viewer of the stream, with the current state of their group. */
  current({ viewer }: Stream): Viewer {
    const { access } = this.#deps;
    return isGuest(viewer)
      ? access.guest
      : { ...viewer, group: access.group(viewer.group.id) ?? access.groupOf('guest') };
  }

  async #reauthenticate(stream: Stream): Promise<void> {
    const { sessions, log } = this.#deps;
    const token = bearerToken(stream.req);
    // Taken first, so that a change in the meantime is not missed.
    const stamp = this.#stamp(stream.viewer);
    try {
      const viewer =
        token === undefined ? await sessions.reauthenticate(stream.req) : await sessions.authenticateBearer(token);
      if (viewer?.id !== stream.viewer.id) return endStream(stream);
      Object.assign(stream, { viewer, stamp });
    } catch (error) {
      log.warn({ error }, 'the reader of a stream could not be authenticated; the stream is closed');
      stream.end(RETRY_DELAY);
    }
  }

  #cached({ id }: Viewer): object | undefined {
    return this.#deps.cache.peek<object>(`live.caller:${id}`);
  }

  /** Returns the same object until the member's account changes, in any process. */
  #stamp(viewer: Viewer): object {
    const { cache } = this.#deps;
    const cached = this.#cached(viewer);
    if (cached || isGuest(viewer)) return cached ?? {};
    const stamp = {};
    cache.set(`live.caller:${viewer.id}`, [accountTag(viewer.id)], stamp, cache.version(), { bytes: 256 });
    return stamp;
  }
}
