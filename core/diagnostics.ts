import { channel } from 'node:diagnostics_channel';

// Diagnostics channels for instrumentation. Messages are published in the async context of the work they describe, so
// that subscribers can attribute them to a request. Without subscribers they cost nothing.

/** A single SQL statement. */
export interface StatementMessage {
  /** Set by a subscriber that wants to know when the statement ends; called in whichever async context that happens. */
  ended: (() => void) | undefined;
}
const statementSent = channel('parley.statement');

/** Announces a statement that is about to be sent. Call the returned function, if any, once its result has arrived. */
export function sendingStatement(): (() => void) | undefined {
  if (!statementSent.hasSubscribers) return undefined;
  const message: StatementMessage = { ended: undefined };
  statementSent.publish(message);
  return message.ended;
}

/** A plugin's listener, slot or job has finished, whether it succeeded or failed. */
export interface TaskMessage {
  readonly plugin: string;
  /** For example `filter name.shown`. */
  readonly task: string;
  readonly milliseconds: number;
}
export const taskEnded = channel('parley.task');

/** A hook was raised; the message is the hook itself. */
export const hookRaised = channel('parley.hook');
