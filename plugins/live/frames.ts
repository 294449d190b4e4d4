import type { LoggedEvent } from 'parley-forum/plugins/events';

/**
 * An event of the log, under its position, from which a reader can resume. Its data is what webhooks send,
 * too.
 */
export const eventFrame = ({ position, id, event, timestamp, data }: LoggedEvent): string =>
  `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify({ id, event, timestamp, data })}\n\n`;

/** Without an id: a signal that was missed is not sent later. */
export const signalFrame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Keeps the connection open, and says up to which position events were sent. */
export const heartbeatFrame = (position: number): string => `:\nid: ${position}\n\n`;

/** Some events before `position` were not sent: readers load everything again. */
export const resetFrame = (position: number): string =>
  `id: ${position}\nevent: reset\ndata: ${JSON.stringify({ position })}\n\n`;

/** Where a fresh stream begins, and how long to wait before reconnecting when it breaks. */
export const openingFrame = (position: number, retry: number): string => `retry: ${retry}\nid: ${position}\n\n`;
