import { channel } from 'node:diagnostics_channel';

/**
 * Told of each statement in the asynchronous context that asks for it, so that whoever listens can tell on whose
 * account it is.
 */
export const statementSent = channel('parley.statement');
