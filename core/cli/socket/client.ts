import { once } from 'node:events';
import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { App } from '../host/app.ts';
import type { Console } from './command.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import { runCommand } from './run-command.ts';

/** What a caller asks for: one line of JSON. */
export interface Request {
  readonly argv: readonly string[];
  readonly terminal: boolean;
  readonly columns: number;
}

/** What comes back: one line of JSON each, `exit` last. */
type Message =
  | { readonly print: string }
  | { readonly progress: string }
  /** To be answered with one line of JSON, `Answer`. */
  | { readonly ask: string; readonly piped: boolean }
  | { readonly exit: number; readonly error?: string; readonly stack?: string };

/** What the caller typed; null where there was nothing to ask. */
interface Answer {
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

const pathIn = (dataDir: string): string => join(dataDir, 'parley.sock');

/**
 * Lets commands be given beside this server. Only the user it runs as can reach the socket. `close` may run while the
 * process ends.
 */
export async function serveCommands(app: App): Promise<{ close(): void }> {
  const path = pathIn(app.environment.dataDir);
  const first = await open(path);
  // Another process of the same site answers here already: it carries commands out for both.
  first?.destroy();
  if (first) return { close: () => undefined };
  const server = createServer((socket) => void answer(app, socket));
  try {
    await listenPrivately(server, app.environment.dataDir, path);
  } catch (error) {
    app.log.warn(
      { error: messageOf(error) },
      `commands cannot be given beside this server: ${path} could not be opened; a shorter DATA_DIR may help`,
    );
    return { close: () => undefined };
  }
  const inode = lstatSync(path).ino;
  return {
    close: () => {
      server.close();
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === inode) rmSync(path, { force: true });
    },
  };
}

/**
 * Hands a command to the server on this data directory. False when none answers; rejects with what the command failed
 * with.
 */
export async function delegate(dataDir: string, request: Request, console: Console): Promise<boolean> {
  const socket = await open(pathIn(dataDir));
  if (!socket) return false;
  socket.write(`${JSON.stringify(request)}\n`);
  for await (const line of createInterface({ input: socket })) {
    const message = JSON.parse(line) as Message;
    if ('print' in message) console.print(message.print);
    else if ('progress' in message) console.progress(message.progress);
    else if ('ask' in message)
      socket.write(
        `${JSON.stringify({ secret: (await console.secret(message.ask, message.piped)) ?? null } satisfies Answer)}\n`,
      );
    else if (message.exit === 0) return true;
    else throw new RemoteError(message.error ?? 'failed', message.stack);
  }
  throw new Error('the server ended before the command did; look at its log');
}

/**
 * Made in a folder that nobody else may enter and moved into place, so that there is no moment in which others could
 * connect.
 */
async function listenPrivately(server: Server, dataDir: string, path: string): Promise<void> {
  const folder = mkdtempSync(join(dataDir, '.s'));
  try {
    const made = join(folder, 's');
    server.listen(made);
    await once(server, 'listening');
    chmodSync(made, 0o600);
    renameSync(made, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  server.unref();
}

/** A connection, or undefined where nobody listens. */
async function open(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

async function answer(app: App, socket: Socket): Promise<void> {
  // A caller that goes away does not stop its command: half of an import would be worse.
  socket.on('error', () => undefined);
  const send = (message: Message): void => void (socket.writable && socket.write(`${JSON.stringify(message)}\n`));
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const read = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done ? undefined : value;
  };
  const line = await read();
  if (line === undefined) return;
  try {
    const { argv, terminal, columns } = JSON.parse(line) as Request;
    const progress = (text: string): void => (terminal ? send({ progress: text }) : undefined);
    const secret = async (label: string, piped: boolean): Promise<string | undefined> => {
      send({ ask: label, piped });
      const answered = await read();
      if (answered === undefined) throw new ConfigurationError('The caller is gone; nothing was done');
      return (JSON.parse(answered) as Answer).secret ?? undefined;
    };
    await runCommand(app, argv, { terminal, columns, print: (text) => send({ print: text }), progress, secret });
    send({ exit: 0 });
  } catch (error) {
    send({ exit: 1, error: messageOf(error), ...(error instanceof Error && error.stack && { stack: error.stack }) });
  }
  socket.end();
}
