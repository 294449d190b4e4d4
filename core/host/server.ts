import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../environment.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import { Http } from '../http/http.ts';
import type { RouteRegistry } from '../http/routes.ts';

type Where = Pick<Environment, 'host' | 'port' | 'requestSeconds' | 'maxConnections'>;

/** Stands around the answer to each request, stored ones included. */
export type Around = (req: IncomingMessage, res: ServerResponse, answer: () => void) => void;

/** A name or an address, and a port. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** Milliseconds between two looks for requests that take too long. */
const LOOK = 2_000;
/**
 * How long a closing port waits for a turn of the event loop that brings no connection, and what such a turn takes at
 * most, in milliseconds.
 */
const ACCEPTING = 1_000;
const INSTANT = 0.1;
/** Requests of one connection that wait while an earlier one is answered. Browsers and proxies send none so early. */
const MAX_WAITING = 16;
/** Milliseconds for which an answer may wait until more of it is taken. Longer than any handler takes to begin. */
const UNREAD = 120_000;

export interface ListenOptions {
  /** A server that has the port open already. */
  readonly open?: Server | undefined;
  readonly around?: Around | undefined;
  /** Milliseconds after which a connection is closed on which nothing moves. */
  readonly unread?: number;
}

/**
 * Opens the port, or goes on with a server that has it open. Throws `ConfigurationError` where it cannot be opened,
 * such as one in use. Stored answers are tried before Express is entered.
 */
export async function listen(
  app: RequestListener,
  routes: RouteRegistry,
  { host, port, requestSeconds, maxConnections }: Where,
  { open, around = (_req, _res, answer) => answer(), unread = UNREAD }: ListenOptions = {},
): Promise<Server> {
  const answer: RequestListener = inTurn((req, res) => {
    around(req, res, () => {
      if (!hasOneHost(req)) refuseHost(routes, res);
      else if (!routes.fastPath(req, res)) app(req, res);
    });
  });
  if (open) return open.removeAllListeners('request').on('request', answer);
  const server = createServer({ connectionsCheckingInterval: LOOK }, answer);
  // Node would refuse what it does not know of `Expect` by itself, without a header.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.requestTimeout = requestSeconds * 1_000;
  server.headersTimeout = server.requestTimeout;
  if (maxConnections > 0) server.maxConnections = maxConnections;
  // Longer than common proxies keep theirs, so that they never send into a closing connection.
  server.keepAliveTimeout = 65_000;
  server.timeout = unread;
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new ConfigurationError(`HOST=${host} and PORT=${port} cannot be listened on: ${messageOf(error)}`, {
      cause: error,
    });
  });
  return server;
}

/**
 * One packet has room for hundreds of requests, which Node hands out all at once, and stores their answers until the
 * first was read. So that whoever sends them gets no more than others, each begins when the one before was answered.
 */
function inTurn(answer: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (req, res) => {
    // Node gives the connection to one response after the other.
    if (res.socket !== null) return answer(req, res);
    const { socket } = req;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_WAITING) return void socket.destroy();
    waiting.set(socket, count);
    res.once('socket', () => {
      waiting.set(socket, waiting.get(socket)! - 1);
      answer(req, res);
    });
  };
}

/**
 * Of several Host headers Node takes the first and a proxy may have taken the last. A request of HTTP/1.0 may have
 * none.
 */
function hasOneHost({ rawHeaders, headers: { host } }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++;
  return hosts === 0 || (hosts === 1 && host !== undefined && HOST.test(host));
}

function refuseHost(routes: RouteRegistry, res: ServerResponse): void {
  routes.service(Http)?.protect(res);
  res.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
  res.end('Send one Host header with the name of this site, such as www.example.org.\n');
}

/**
 * For so many milliseconds the port stays open while GET /readyz says that it will not: proxies that ask it learn to
 * send requests elsewhere, and those that only reuse connections are asked to leave each with its next answer.
 */
export async function drainServer(server: Server, milliseconds: number): Promise<void> {
  if (milliseconds === 0) return;
  askToLeave(server);
  await delay(milliseconds);
}

/** No new connections; those under way finish, at most `grace` milliseconds. */
export async function closeServer(server: Server, grace = 5_000): Promise<void> {
  const closed = once(server, 'close');
  // Whoever keeps a connection busy is told to leave it, or it would be cut in the middle of a request at the end of
  // `grace`.
  askToLeave(server);
  await closePort(server);
  const leave = setInterval(() => server.closeIdleConnections(), 50);
  const force = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearInterval(leave);
  clearTimeout(force);
}

/**
 * Connections that wait to be accepted when the port closes are reset, and a proxy may not send again what it has sent
 * on them. The event loop accepts one a turn: the port may close right after a turn that brought none and was over at
 * once. Until then no request begins, so that under load too such a turn comes within milliseconds.
 */
async function closePort(server: Server): Promise<void> {
  const listeners = server.listeners('request') as RequestListener[];
  const held: [IncomingMessage, ServerResponse][] = [];
  server.removeAllListeners('request').on('request', (req, res) => held.push([req, res]));
  let accepted = 0;
  server.on('connection', () => accepted++);
  // Before the turn that decides, for it takes time and whoever is cut off connects anew at once.
  server.closeIdleConnections();
  const until = performance.now() + ACCEPTING;
  for (let begun = performance.now(); begun < until; begun = performance.now()) {
    const before = accepted;
    await turn();
    if (accepted === before && performance.now() - begun < INSTANT) break;
  }
  server.close();
  server.removeAllListeners('request');
  for (const listener of listeners) server.on('request', listener);
  for (const [req, res] of held) server.emit('request', req, res);
}

/** Every answer from here on is the last one of its connection. */
function askToLeave(server: Server): void {
  server.prependListener('request', (_req, res: ServerResponse) => res.setHeader('Connection', 'close'));
}
