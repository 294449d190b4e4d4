import { defineExtensionPoint, defineToken, type Awaitable } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * A kind of message on the streams of /api/live that is delivered immediately or not at all, unlike the events of the
 * log.
 */
export interface Signal<D extends object = any> {
  /** The `event:` field in the stream, such as `typing`. */
  readonly name: string;
  /** One sentence for plugin authors: when it is sent and what `data` contains. */
  readonly description: string;
  /** Called once for all viewers of equal rights, unless the message is for a single member. */
  visible(data: D, viewer: Viewer): Awaitable<boolean>;
}
export const signals = defineExtensionPoint<Signal>(
  'live.signals',
  'Kinds of messages on the live stream that are delivered immediately or not at all, unlike events.',
  { order: 'If several have the same name, the first one counts.' },
);

/** Sends signals to open pages and programs. */
export interface Live {
  /**
   * Sends to the open streams of every process, or only to those of the member whose id is `to`. Does not wait for the
   * other processes, and never throws.
   */
  send(signal: string, data: object, to?: string): void;
}
export const Live = defineToken<Live>('Live');
