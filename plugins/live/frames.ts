import type { LoggedEvent } from 'parley-forum/plugins/events';

/**
 * An event of the log, under its position: what a reader names to go on from there. Its data is what webhooks send,
 * too.
 */
export const eventFrame = ({ position, id, event, timestamp, data }: LoggedEvent): string =>
  `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify({ id, event, timestamp, data })}\n\n`;

/** Without an id: who was not there to hear it is not told later. */
export const signalFrame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Keeps the connection open, and tells how far the log has been told. */
export const heartbeatFrame = (position: number): string => `:\nid: ${position}\n\n`;

/** Some of what happened before `position` was not told: readers look at everything again. */
export const resetFrame = (position: number): string =>
  `id: ${position}\nevent: reset\ndata: ${JSON.stringify({ position })}\n\n`;

/** Where a fresh stream begins, and how long to wait before coming back when it breaks. */
export const openingFrame = (position: number, retry: number): string => `retry: ${retry}\nid: ${position}\n\n`;
