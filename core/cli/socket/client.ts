import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Console } from '../command.ts';

/** What a caller asks for: one line of JSON. */
export interface Request {
  readonly argv: readonly string[];
  readonly terminal: boolean;
  readonly columns: number;
}

/** What comes back: one line of JSON each, `exit` last. */
export type Message =
  /** The command needs no data: the caller runs it. */
  | { readonly standsAlone: true }
  | { readonly print: string }
  | { readonly progress: string }
  /** To be answered with one line of JSON, `Answer`. */
  | { readonly ask: string; readonly piped: boolean }
  | { readonly exit: number; readonly error?: string; readonly stack?: string };

/** What the caller typed; null where there was nothing to ask. */
export interface Answer {
  readonly secret: string | null;
}

/** The command failed in the server; `stack` is the server's. */
class RemoteError extends Error {
  override readonly name = 'RemoteError';

  constructor(message: string, stack: string | undefined) {
    super(message);
    if (stack !== undefined) this.stack = stack;
  }
}

/** Where a server on this data directory listens for commands. */
export const socketPath = (dataDir: string): string => join(dataDir, 'parley.sock');

/**
 * Hands a command to the server on this data directory. False when none answers, or the command needs none; rejects
 * with what the command failed with.
 */
export async function delegate(dataDir: string, request: Request, console: Console): Promise<boolean> {
  const socket = await open(socketPath(dataDir));
  if (!socket) return false;
  socket.write(`${JSON.stringify(request)}\n`);
  try {
    for await (const line of createInterface({ input: socket })) {
      const message = JSON.parse(line) as Message;
      if ('standsAlone' in message) return false;
      if ('print' in message) console.print(message.print);
      else if ('progress' in message) console.progress(message.progress);
      else if ('ask' in message)
        socket.write(
          `${JSON.stringify({ secret: (await console.secret(message.ask, message.piped)) ?? null } satisfies Answer)}\n`,
        );
      else if (message.exit === 0) return true;
      else throw new RemoteError(message.error ?? 'failed', message.stack);
    }
  } finally {
    socket.destroy();
  }
  throw new Error('the server ended before the command did; look at its log');
}

/** A connection, or undefined where nobody listens. */
export async function open(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}
