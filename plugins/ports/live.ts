import { defineExtensionPoint, defineToken, type Awaitable } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A kind of message on the streams of /api/live that is sent now or never, unlike the events of the log. */
export interface Signal<D extends object = any> {
  /** The `event:` of the stream, such as `typing`. */
  readonly name: string;
  /** One sentence for authors: when it is sent, and what its data are. */
  readonly description: string;
  /** Asked once for all viewers of equal rights, unless the message is for one member. */
  visible(data: D, viewer: Viewer): Awaitable<boolean>;
}
export const signals = defineExtensionPoint<Signal>(
  'live.signals',
  'Kinds of messages on the live stream that are sent now or never, unlike events.',
  { order: 'Of several with one name the first counts.' },
);

/** Sends signals to open pages and programs. */
export interface Live {
  /**
   * To the open streams of every process; `to` is one member's id. Does not wait for the other processes, and never
   * throws.
   */
  send(signal: string, data: object, to?: string): void;
}
export const Live = defineToken<Live>('Live');
