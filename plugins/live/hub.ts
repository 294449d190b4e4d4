import { messageOf, type Logger } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { EventLog, LoggedEvent } from 'parley-forum/plugins/events';
import type { Callers } from './callers.ts';
import { eventFrame, heartbeatFrame, openingFrame, resetFrame, signalFrame } from './frames.ts';
import type { Message, Stream } from './stream.ts';

/**
 * Entries of the log that a reader may have missed and is told, and characters of them; beyond either it is told to
 * look at everything again.
 */
const MISSED = 1_000;
const MISSED_TEXT = 1024 ** 2;
/** Entries read at once for it. */
const PAGE = 100;

export interface HubParts {
  readonly events: EventLog;
  readonly callers: Callers;
  readonly log: Logger;
  /** Whether the viewer may be told of a signal. */
  heard(signal: Message, viewer: Viewer): Promise<boolean>;
}

/** A second or so, not the same for all: when many streams end at once, their readers do not come back at once. */
export const soon = (): number => 1_000 + Math.floor(Math.random() * 4_000);

/** The open streams of this process, and what they are told. */
export class Hub {
  readonly #parts: HubParts;
  readonly #streams = new Map<string, Set<Stream>>();
  /** What the log has had for the streams so far. */
  #position = 0;
  #waiting: LoggedEvent[] = [];
  #telling = false;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** Where streams begin that name no position. */
  begin(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  /** How many streams a caller has open; `caller` is any text that names them. */
  count(caller: string): number {
    return this.#streams.get(caller)?.size ?? 0;
  }

  /** Resolves when what was missed since `after` has been told. The stream is in the count until `leave`. */
  async join(caller: string, stream: Stream, after: number | undefined): Promise<void> {
    this.#streams.set(caller, (this.#streams.get(caller) ?? new Set()).add(stream));
    stream.send(openingFrame(after ?? this.#position, soon()));
    if (after === undefined) this.#arrive(stream, this.#position);
    else await this.#catchUp(stream, after);
  }

  leave(caller: string, stream: Stream): void {
    const streams = this.#streams.get(caller);
    if (streams?.delete(stream) && streams.size === 0) this.#streams.delete(caller);
  }

  /** New entries of the log, in order. One batch after the other. */
  tell(events: readonly LoggedEvent[]): void {
    this.#waiting.push(...events);
    if (!this.#telling) void this.#tellAll();
  }

  /** A signal, to everybody or to one member. Never rejects. */
  async signal(message: Message, to: string | undefined): Promise<void> {
    const wanted = (
      to === undefined
        ? this.#current()
        : [...(this.#streams.get(memberKey(to)) ?? [])].filter(({ current }) => current)
    ).filter((stream) => stream.wants(message, to !== undefined));
    await this.#parts.callers.refresh(wanted);
    const frame = signalFrame(message.name, message.data);
    await Promise.all(
      this.#parts.callers.groups(wanted).map(async ({ viewer, streams }) => {
        if (await this.#parts.heard(message, viewer)) for (const stream of streams) stream.send(frame);
      }),
    );
  }

  /** Every 25 s: keeps connections open, and ends what its caller may no longer read. */
  async beat(): Promise<void> {
    await this.#parts.callers.identify(this.#all());
    for (const stream of this.#current()) stream.send(heartbeatFrame(stream.position));
  }

  end(): void {
    for (const stream of this.#all()) stream.end(soon());
  }

  #all(): readonly Stream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams]);
  }

  #current(): readonly Stream[] {
    return this.#all().filter(({ current }) => current);
  }

  /** From here on it is told what everybody is told. */
  #arrive(stream: Stream, position: number): void {
    stream.position = position;
    stream.current = true;
  }

  /** Never rejects. */
  async #tellAll(): Promise<void> {
    this.#telling = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, PAGE);
      // Before anything is awaited: whoever joins meanwhile reads these from the log.
      this.#position = Math.max(this.#position, batch.at(-1)!.position);
      const streams = this.#current();
      await this.#orReset(streams, async () => {
        await this.#parts.callers.refresh(streams);
        await Promise.all(
          this.#parts.callers
            .groups(streams)
            .map((group) => this.#orReset(group.streams, () => this.#tellGroup(batch, group))),
        );
      });
    }
    this.#telling = false;
  }

  async #tellGroup(
    batch: readonly LoggedEvent[],
    { viewer, streams }: { readonly viewer: Viewer; readonly streams: readonly Stream[] },
  ): Promise<void> {
    const told = (await this.#parts.events.visible(batch, viewer)).map((event) => ({
      event,
      frame: eventFrame(event),
    }));
    const whole = Buffer.from(told.map(({ frame }) => frame).join(''));
    for (const stream of streams) {
      const own = told.filter(
        ({ event }) => event.position > stream.position && stream.wants({ name: event.event, data: event.data }),
      );
      if (own.length > 0) stream.send(own.length === told.length ? whole : own.map(({ frame }) => frame).join(''));
      stream.position = Math.max(stream.position, batch.at(-1)!.position);
    }
  }

  /** Where it cannot be said who may be told what, nobody is, and all look again. */
  async #orReset(streams: readonly Stream[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.log.warn(
        { error: messageOf(error) },
        'what happened could not be told; readers are asked to look at everything again',
      );
      for (const stream of streams) this.#reset(stream, this.#position);
    }
  }

  #reset(stream: Stream, position: number): void {
    stream.send(resetFrame(position));
    this.#arrive(stream, Math.max(stream.position, position));
  }

  async #catchUp(stream: Stream, after: number): Promise<void> {
    const { events } = this.#parts;
    const { oldest, newest } = await events.bounds();
    // Forgotten meanwhile, or a position of another log, such as one from before a backup was restored.
    if (after < oldest - 1 || after > Math.max(newest, this.#position)) return this.#reset(stream, this.#position);
    let position = after;
    for (let read = 0, sent = 0; read < MISSED && sent < MISSED_TEXT && stream.open; read += PAGE) {
      const told = this.#position;
      const page = await events.after(position, PAGE, stream.viewer, stream.names);
      const wanted = page.events.filter((event) => stream.wants({ name: event.event, data: event.data }));
      const frames = wanted.map(eventFrame).join('');
      stream.send(frames);
      sent += frames.length;
      // What everybody has been told before was in the log when it was read.
      position = page.hasMore ? page.position : Math.max(page.position, told);
      if (!page.hasMore && position >= this.#position) return this.#arrive(stream, position);
      await stream.taken();
    }
    if (stream.open) this.#reset(stream, this.#position);
  }
}

const memberKey = (id: string): string => `user:${id}`;

/** Who a stream counts for: its member, or the address of a guest. */
export const callerKey = (viewer: Viewer, address: string): string =>
  isGuest(viewer) ? `ip:${address}` : memberKey(viewer.id!);
