import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { RouteRegistry } from '../routes.ts';

/** Opens the port, or goes on with a server that has it open. Stored answers are tried before Express is entered. */
export async function listen(app: RequestListener, routes: RouteRegistry, { host, port }: { host: string; port: number }, open?: Server): Promise<Server> {
  const answer: RequestListener = (req, res) => {
    if (!routes.replay(req, res)) app(req, res);
  };
  if (open) return open.removeAllListeners('request').on('request', answer);
  const server = createServer(answer);
  // Longer than common proxies keep theirs, so that they never send into a closing connection.
  server.keepAliveTimeout = 65_000;
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

/** No new connections; those under way finish, at most `grace` milliseconds. */
export async function closeServer(server: Server, grace = 5_000): Promise<void> {
  const closed = once(server, 'close');
  // Whoever keeps a connection busy is told to leave it, or it would be cut in the middle of a request at the end of `grace`.
  server.prependListener('request', (_req, res: ServerResponse) => res.setHeader('Connection', 'close'));
  server.close();
  const leave = setInterval(() => server.closeIdleConnections(), 50);
  const force = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearInterval(leave);
  clearTimeout(force);
}
