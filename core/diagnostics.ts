import { channel } from 'node:diagnostics_channel';

// What happens inside, for whoever measures it. Each is told in the asynchronous context that it happens in, so that
// listeners can tell on whose account it is. Costs nothing while nobody listens.

/** One statement of SQL. */
export interface StatementMessage {
  /** Set by whoever wants to hear of its end, in whatever context that comes. */
  ended: (() => void) | undefined;
}
const statementSent = channel('parley.statement');

/** Tells of a statement that is about to be sent. What it returns is to be called when its answer is there. */
export function sendingStatement(): (() => void) | undefined {
  if (!statementSent.hasSubscribers) return undefined;
  const message: StatementMessage = { ended: undefined };
  statementSent.publish(message);
  return message.ended;
}

/** A listener, slot or job of a plugin has ended, well or not. */
export interface TaskMessage {
  readonly plugin: string;
  /** Such as `filter name.shown`. */
  readonly task: string;
  readonly milliseconds: number;
}
export const taskEnded = channel('parley.task');

/** A hook is raised; the message is the hook. */
export const hookRaised = channel('parley.hook');
