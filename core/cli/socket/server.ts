import { once } from 'node:events';
import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readCall, runCall, standsAlone } from '../run-command.ts';
import { open, socketPath, type Answer, type Message, type Request } from './client.ts';
import { ConfigurationError, messageOf } from '../../errors.ts';
import type { App } from '../../host/app.ts';

/**
 * Accepts commands while this server runs. Only the user that runs the server can access the socket. `close` may be
 * called while the process is exiting.
 */
export async function serveCommands(app: App): Promise<{ close(): void }> {
  const path = socketPath(app.environment.dataDir);
  const first = await open(path);
  // Another process of the same site is already listening here and runs commands for both.
  first?.destroy();
  if (first) return { close: () => undefined };
  const server = createServer((socket) => void answer(app, socket));
  try {
    await listenPrivately(server, app.environment.dataDir, path);
  } catch (error) {
    app.log.warn(
      { error: messageOf(error) },
      `commands cannot be sent to this server: ${path} could not be opened; a shorter DATA_DIR may help`,
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
 * Created in a folder that no other user may enter and then moved into place, so that there is never a moment when
 * other users could connect.
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

async function answer(app: App, socket: Socket): Promise<void> {
  // A command continues if its caller disconnects: half an import would be worse.
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
      if (answered === undefined) throw new ConfigurationError('The caller disconnected; nothing was done');
      return (JSON.parse(answered) as Answer).secret ?? undefined;
    };
    const call = readCall(app, argv, { columns });
    if (standsAlone(call)) send({ standsAlone: true });
    else {
      await runCall(app, call, { terminal, columns, print: (text) => send({ print: text }), progress, secret });
      send({ exit: 0 });
    }
  } catch (error) {
    send({ exit: 1, error: messageOf(error), ...(error instanceof Error && error.stack && { stack: error.stack }) });
  }
  socket.end();
}
