import { messageOf, type Logger } from 'parley-forum';
import { memberKey, type Viewer } from 'parley-forum/plugins/access';
import type { EventLog, LoggedEvent } from 'parley-forum/plugins/events';
import type { Callers } from './callers.ts';
import { eventFrame, heartbeatFrame, openingFrame, resetFrame, signalFrame } from './frames.ts';
import type { Message, Stream } from './stream.ts';

/**
 * Maximum number of missed events that are still sent to a client, and of their characters; beyond either limit it gets
 * a reset.
 */
const MAX_MISSED_EVENTS = 1_000;
const MAX_MISSED_CHARACTERS = 1024 ** 2;
/** Missed events read at a time. */
const PAGE_SIZE = 100;

/** The server now renders pages with a different theme, plugins or files than the page that is listening. */
export const UPDATED = { name: 'site.updated', data: {} } as const satisfies Message;

export interface HubDeps {
  readonly events: EventLog;
  readonly callers: Callers;
  readonly log: Logger;
  /** Version of the pages currently served; undefined while there are none. */
  version(): string | undefined;
  /** Whether the viewer may receive a signal. */
  canReceive(signal: Message, viewer: Viewer): Promise<boolean>;
}

/** An event and its encoded frame. */
interface Framed {
  readonly event: LoggedEvent;
  readonly frame: string;
}
const framed = (events: readonly LoggedEvent[]): readonly Framed[] =>
  events.map((event) => ({ event, frame: eventFrame(event) }));
const inOrder = (events: readonly Framed[]): readonly Framed[] =>
  events.toSorted((a, b) => a.event.position - b.event.position);

/**
 * One to five seconds, randomized: when many streams end at once, their clients should not all reconnect at the same
 * time.
 */
const retryDelay = (): number => 1_000 + Math.floor(Math.random() * 4_000);

/** The open streams of this process, and the messages sent to them. */
export class Hub {
  readonly #deps: HubDeps;
  readonly #streams = new Map<string, Set<Stream>>();
  /** Position of the last event passed to the streams. */
  #position = 0;
  #pending: LoggedEvent[] = [];
  #publishing = false;

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  /** Sets the position at which streams start that do not specify one. */
  startAt(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  /** How many streams a caller has open; `caller` is any text that identifies them. */
  count(caller: string): number {
    return this.#streams.get(caller)?.size ?? 0;
  }

  /** Resolves when the events missed since `after` have been sent. The stream is counted until `leave`. */
  async join(caller: string, stream: Stream, after: number | undefined): Promise<void> {
    this.#streams.set(caller, (this.#streams.get(caller) ?? new Set()).add(stream));
    stream.send(openingFrame(after ?? this.#position, retryDelay()));
    this.#sendVersion([stream]);
    if (after === undefined) this.#markCurrent(stream, this.#position);
    else await this.#catchUp(stream, after);
  }

  leave(caller: string, stream: Stream): void {
    const streams = this.#streams.get(caller);
    if (streams?.delete(stream) && streams.size === 0) this.#streams.delete(caller);
  }

  /** Publishes new entries of the log in order, one batch after the other. */
  publish(events: readonly LoggedEvent[]): void {
    this.#pending.push(...events);
    if (!this.#publishing) void this.#publishPending();
  }

  /** Sends a signal to everyone, or to one member. Never rejects. */
  async signal(message: Message, to: string | undefined): Promise<void> {
    const recipients = (
      to === undefined
        ? this.#current()
        : [...(this.#streams.get(memberKey(to)) ?? [])].filter(({ current }) => current)
    ).filter((stream) => stream.accepts(message, to !== undefined));
    await this.#deps.callers.refresh(recipients);
    const frame = signalFrame(message.name, message.data);
    await Promise.all(
      this.#deps.callers.groups(recipients).map(async ({ viewer, streams }) => {
        if (await this.#deps.canReceive(message, viewer)) for (const stream of streams) stream.send(frame);
      }),
    );
  }

  /** Runs every 25 s: keeps connections open, and ends streams whose caller may no longer read them. */
  async sendHeartbeats(): Promise<void> {
    await this.#deps.callers.reauthenticate(this.#all());
    for (const stream of this.#current()) stream.send(heartbeatFrame(stream.position));
    this.#sendVersion(this.#current());
  }

  /** Notifies each page once when the pages currently served are of another version. */
  #sendVersion(streams: readonly Stream[]): void {
    const outdated = streams.filter(({ version }) => version !== undefined);
    const version = outdated.length > 0 ? this.#deps.version() : undefined;
    if (version === undefined) return;
    for (const stream of outdated) {
      if (stream.version !== version && stream.accepts(UPDATED)) stream.send(signalFrame(UPDATED.name, UPDATED.data));
      stream.version = version;
    }
  }

  /** Ends the streams of a member whose session or token has ended, and updates the others. */
  reauthenticate(member: string): Promise<void> {
    return this.#deps.callers.reauthenticate(this.#streams.get(memberKey(member)) ?? []);
  }

  end(): void {
    for (const stream of this.#all()) stream.end(retryDelay());
  }

  #all(): readonly Stream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams]);
  }

  #current(): readonly Stream[] {
    return this.#all().filter(({ current }) => current);
  }

  /** From here on the stream gets what all streams get. */
  #markCurrent(stream: Stream, position: number): void {
    stream.position = position;
    stream.current = true;
  }

  /** Never rejects. */
  async #publishPending(): Promise<void> {
    this.#publishing = true;
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, PAGE_SIZE);
      // Set before anything is awaited: a stream that joins in the meantime reads these events from the log.
      this.#position = Math.max(this.#position, batch.at(-1)!.position);
      const streams = this.#current();
      await this.#resetOnError(streams, async () => {
        await this.#deps.callers.refresh(streams);
        await Promise.all(
          this.#deps.callers
            .groups(streams)
            .map((group) => this.#resetOnError(group.streams, () => this.#publishToGroup(batch, group))),
        );
      });
    }
    this.#publishing = false;
  }

  async #publishToGroup(
    batch: readonly LoggedEvent[],
    { viewer, streams }: { readonly viewer: Viewer; readonly streams: readonly Stream[] },
  ): Promise<void> {
    const { events, callers } = this.#deps;
    const personal = batch.filter(({ event }) => events.personal(event));
    const shared = framed(
      await events.visible(
        batch.filter((event) => !personal.includes(event)),
        viewer,
      ),
    );
    const whole = Buffer.from(shared.map(({ frame }) => frame).join(''));
    await Promise.all(
      streams.map(async (stream) => {
        const visible =
          personal.length === 0
            ? shared
            : inOrder([...shared, ...framed(await events.visible(personal, callers.current(stream)))]);
        const own = visible.filter(
          ({ event }) => event.position > stream.position && stream.accepts({ name: event.event, data: event.data }),
        );
        if (own.length > 0)
          stream.send(
            own.length === shared.length && visible === shared ? whole : own.map(({ frame }) => frame).join(''),
          );
        stream.position = Math.max(stream.position, batch.at(-1)!.position);
      }),
    );
  }

  /** If it cannot be decided who may see what, only a reset is sent. */
  async #resetOnError(streams: readonly Stream[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn(
        { error: messageOf(error) },
        'events or signals could not be delivered; open streams are reset',
      );
      for (const stream of streams) this.#reset(stream, this.#position);
    }
  }

  #reset(stream: Stream, position: number): void {
    stream.send(resetFrame(position));
    this.#markCurrent(stream, Math.max(stream.position, position));
  }

  async #catchUp(stream: Stream, after: number): Promise<void> {
    const { events } = this.#deps;
    const { oldest, newest } = await events.bounds();
    // The events after it have been deleted, or it is a position in another log, such as one from before a backup was
    // restored.
    if (after < oldest - 1 || after > Math.max(newest, this.#position)) return this.#reset(stream, this.#position);
    let position = after;
    for (
      let read = 0, sent = 0;
      read < MAX_MISSED_EVENTS && sent < MAX_MISSED_CHARACTERS && stream.open;
      read += PAGE_SIZE
    ) {
      const publishedTo = this.#position;
      const page = await events.after(position, PAGE_SIZE, stream.viewer, stream.names);
      const wanted = page.events.filter((event) => stream.accepts({ name: event.event, data: event.data }));
      const frames = wanted.map(eventFrame).join('');
      stream.send(frames);
      sent += frames.length;
      // Events published before this page was read are included in it.
      position = page.hasMore ? page.position : Math.max(page.position, publishedTo);
      if (!page.hasMore && position >= this.#position) return this.#markCurrent(stream, position);
      await stream.drained();
    }
    if (stream.open) this.#reset(stream, this.#position);
  }
}
