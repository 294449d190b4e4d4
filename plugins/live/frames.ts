import type { LoggedEvent } from 'parley-forum/plugins/events';

/**
 * An event of the log, with its position as id, from which a client can resume. Its data is the same as that sent by
 * webhooks.
 */
export const eventFrame = ({ position, id, event, timestamp, data }: LoggedEvent): string =>
  `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify({ id, event, timestamp, data })}\n\n`;

/** Without an id: a signal that was missed is not sent later. */
export const signalFrame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Keeps the connection open, and tells up to which position events have been sent. */
export const heartbeatFrame = (position: number): string => `:\nid: ${position}\n\n`;

/** Some events before `position` were not sent: clients must reload everything. */
export const resetFrame = (position: number): string =>
  `id: ${position}\nevent: reset\ndata: ${JSON.stringify({ position })}\n\n`;

/** The position at which a new stream starts, and how long to wait before reconnecting when it breaks. */
export const openingFrame = (position: number, retry: number): string => `retry: ${retry}\nid: ${position}\n\n`;
