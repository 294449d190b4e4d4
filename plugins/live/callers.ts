import type { Cache, Logger } from 'parley-forum';
import { isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import type { Stream } from './stream.ts';

/** Milliseconds after which the reader of a stream that was ended comes back, as whoever it is then. */
const RETRY = 2_000;

export interface CallersParts {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly cache: Cache;
  readonly log: Logger;
}

/** Knows whether those who opened streams may still be told what they could be told then. */
export class Callers {
  readonly #parts: CallersParts;

  constructor(parts: CallersParts) {
    this.#parts = parts;
  }

  /** To be called when a stream opens: its caller has just been identified. */
  admit(stream: Stream): void {
    stream.stamp = this.#stamp(stream.viewer);
  }

  /** Ends the streams whose session or token is over, and takes over what changed of the others' members. */
  async identify(streams: Iterable<Stream>): Promise<void> {
    const members = [...streams].filter(({ viewer }) => !isGuest(viewer));
    await Promise.all(members.map((stream) => this.#identify(stream)));
  }

  /** As `identify`, for those alone whose account has changed in any process since they were looked at. */
  async refresh(streams: Iterable<Stream>): Promise<void> {
    await this.identify([...streams].filter(({ viewer, stamp }) => !isGuest(viewer) && stamp !== this.#held(viewer)));
    await this.#parts.access.refresh();
  }

  /** Streams by what their viewers may see, each group with one viewer that stands for it. */
  groups(streams: Iterable<Stream>): readonly { readonly viewer: Viewer; readonly streams: readonly Stream[] }[] {
    const { access } = this.#parts;
    const groups = Map.groupBy(
      streams,
      ({ viewer }) => `${isGuest(viewer) ? 'guest' : 'member'}:${access.signature(viewer)}`,
    );
    return [...groups.values()].map((group) => ({ viewer: this.#now(group[0]!.viewer), streams: group }));
  }

  /** With the group as it is by now. */
  #now(viewer: Viewer): Viewer {
    const { access } = this.#parts;
    return isGuest(viewer)
      ? access.guest
      : { ...viewer, group: access.group(viewer.group.id) ?? access.groupOf('guest') };
  }

  async #identify(stream: Stream): Promise<void> {
    const { sessions, log } = this.#parts;
    const token = bearerToken(stream.req);
    // Taken first, so that a change meanwhile counts.
    const stamp = this.#stamp(stream.viewer);
    try {
      const viewer =
        token === undefined ? await sessions.reauthenticate(stream.req) : await sessions.authenticateBearer(token);
      if (viewer?.id !== stream.viewer.id) return stream.end(RETRY);
      Object.assign(stream, { viewer, stamp });
    } catch (error) {
      log.warn({ error }, 'who reads a stream could not be made sure of; it is ended');
      stream.end(RETRY);
    }
  }

  #held({ id }: Viewer): object | undefined {
    return this.#parts.cache.peek<object>(`live.caller:${id}`);
  }

  /** The same object until something about the member's account changes, wherever that happens. */
  #stamp(viewer: Viewer): object {
    const { cache } = this.#parts;
    const held = this.#held(viewer);
    if (held || isGuest(viewer)) return held ?? {};
    const stamp = {};
    cache.keep(`live.caller:${viewer.id}`, [accountTag(viewer.id!)], stamp, cache.mark(), { bytes: 256 });
    return stamp;
  }
}
