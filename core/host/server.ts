import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../environment.ts';
import { ConfigurationError, messageOf } from '../errors.ts';
import { Http } from '../http/http.ts';
import type { RouteRegistry } from '../http/routes.ts';

type Where = Pick<Environment, 'host' | 'port' | 'requestSeconds' | 'maxConnections'>;

/** Wraps the handling of each request, including those answered from a cache. */
export type Around = (req: IncomingMessage, res: ServerResponse, answer: () => void) => void;

/** A host name or IP address, with an optional port. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** Milliseconds between checks for requests that take too long. */
const LOOK = 2_000;
/**
 * In milliseconds, how long a closing port waits for an event loop turn without a new connection, and how long such a
 * turn may take at most.
 */
const ACCEPTING = 1_000;
const INSTANT = 0.1;
/**
 * Maximum number of pipelined requests that wait while an earlier one is being answered. Browsers and proxies do not
 * pipeline.
 */
const MAX_WAITING = 16;
/**
 * Milliseconds a response may stall because the client does not read it. Longer than any handler takes to start
 * responding.
 */
const UNREAD = 120_000;

export interface ListenOptions {
  /** A server that already has the port open. */
  readonly open?: Server | undefined;
  readonly around?: Around | undefined;
  /** Milliseconds of inactivity after which a connection is closed. */
  readonly unread?: number;
}

/** What to do if a port cannot be opened, by the error's code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'stop the program that uses it, or set PORT to another one',
  EADDRNOTAVAIL: 'set HOST to an address of this machine, or to 0.0.0.0 for all of them',
  ENOTFOUND: 'set HOST to an address of this machine, or to 0.0.0.0 for all of them',
  EACCES: 'set PORT to one above 1023, and put a proxy before it',
};

/**
 * Opens the port, or takes over a server that already has it open. Throws `ConfigurationError` if it cannot be opened,
 * for example because it is in use. Cached responses are tried before Express runs.
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
  // By itself Node would reject unknown `Expect` values with a response that has no headers.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.requestTimeout = requestSeconds * 1_000;
  server.headersTimeout = server.requestTimeout;
  if (maxConnections > 0) server.maxConnections = maxConnections;
  // Longer than common proxies keep their connections open, so that they never send into a closing one.
  server.keepAliveTimeout = 65_000;
  server.timeout = unread;
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const remedy = code === undefined ? undefined : REMEDIES[code];
    throw new ConfigurationError(
      `cannot listen on HOST=${host} and PORT=${port}: ${messageOf(error)}${remedy === undefined ? '' : `; ${remedy}`}`,
      { cause: error },
    );
  });
  return server;
}

/**
 * A single packet can hold hundreds of pipelined requests, which Node emits all at once, buffering the responses until
 * the client has read the first one. So that a client gains nothing by pipelining, each request starts only when the
 * previous one has been answered.
 */
function inTurn(answer: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (req, res) => {
    // Node assigns the socket to one response after another.
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
 * Given several Host headers, Node uses the first, but a proxy may have used the last. HTTP/1.0 requests may have none.
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
 * Keeps the port open for so many milliseconds while GET /readyz reports that it is about to close. Proxies that poll
 * it learn to send requests elsewhere, and those that merely reuse connections are asked to close each one with its
 * next response.
 */
export async function drainServer(server: Server, milliseconds: number): Promise<void> {
  if (milliseconds === 0) return;
  askToLeave(server);
  await delay(milliseconds);
}

/** Stops accepting connections; requests in progress may finish within `grace` milliseconds. */
export async function closeServer(server: Server, grace = 5_000): Promise<void> {
  const closed = once(server, 'close');
  // Ask clients on busy connections to close them, or they would be cut off in the middle of a request when `grace`
  // ends.
  askToLeave(server);
  await closePort(server);
  const leave = setInterval(() => server.closeIdleConnections(), 50);
  const force = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearInterval(leave);
  clearTimeout(force);
}

/**
 * Connections still in the accept queue when the port closes are reset, and a proxy may not be allowed to retry what it
 * has sent on them. The event loop accepts one connection per turn, so the port may close right after a turn that
 * brought none and ended at once. No request is started until then, so that such a turn comes within milliseconds even
 * under load.
 */
async function closePort(server: Server): Promise<void> {
  const listeners = server.listeners('request') as RequestListener[];
  const held: [IncomingMessage, ServerResponse][] = [];
  server.removeAllListeners('request').on('request', (req, res) => held.push([req, res]));
  let accepted = 0;
  server.on('connection', () => accepted++);
  // Done before the deciding turn, because it takes time, and clients that are disconnected reconnect at once.
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

/** Makes every response from here on the last one of its connection. */
function askToLeave(server: Server): void {
  server.prependListener('request', (_req, res: ServerResponse) => res.setHeader('Connection', 'close'));
}
