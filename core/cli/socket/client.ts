import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Console } from '../command.ts';

/** A request from a caller: one line of JSON. */
export interface Request {
  readonly argv: readonly string[];
  readonly terminal: boolean;
  readonly columns: number;
}

/** A message from the server: one line of JSON each, `exit` last. */
export type Message =
  /** The command needs no data: the caller must run it. */
  | { readonly standsAlone: true }
  | { readonly print: string }
  | { readonly progress: string }
  /** Expects an `Answer` as one line of JSON. */
  | { readonly ask: string; readonly piped: boolean }
  | { readonly exit: number; readonly error?: string; readonly stack?: string };

/** The user's input; null if there was nobody to ask. */
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

/** The socket on which a server with this data directory accepts commands. */
export const socketPath = (dataDir: string): string => join(dataDir, 'parley.sock');

/**
 * Delegates a command to the server running on this data directory. Resolves to false if there is no server or the
 * command does not need one; rejects with the command's error.
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
  throw new Error('the server exited before the command finished; check its log');
}

/** Opens a connection; undefined if nobody is listening. */
export async function open(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}
