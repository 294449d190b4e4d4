import { once } from 'node:events';
import { createServer, request, type ClientRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import express, { type RequestHandler } from 'express';
import { RequestQueue } from '../../core/http/request-queue.ts';

let server: Server;
/** Paths in the order in which requests arrived, and in which they started. */
let [came, began]: [string[], string[]] = [[], []];
beforeEach(() => void ([came, began] = [[], []]));
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends a request on a connection of its own; a POST sends only its headers. */
type Ask = (path: string, method?: 'GET' | 'POST') => ClientRequest;

/** A server on which requests are queued before `handler`. */
async function serve(queue: RequestQueue, handler: RequestHandler): Promise<Ask> {
  const app = express().use(queue.middleware, (req, res, next) => {
    began.push(req.path);
    return handler(req, res, next);
  });
  server = createServer(app);
  server.prependListener('request', ({ url }) => came.push(url!));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (path, method = 'GET') => {
    const headers = method === 'POST' ? { 'Content-Length': 10 } : {};
    const asked = request({ port, path, method, headers, agent: false }).on('error', () => undefined);
    return method === 'POST' ? (asked.flushHeaders(), asked) : asked.end();
  };
}

/** Requests count as in progress however slow the machine is. */
const PATIENT = new RequestQueue({ long: 60_000 });
const answered = (request: ClientRequest): Promise<unknown> => once(request, 'response');

/** Keeps the processor busy for a few turns of the event loop. */
async function work(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) {
    for (const until = performance.now() + 2; performance.now() < until;);
    await nextTurn();
  }
}

describe('concurrent requests', () => {
  it('start in order, eight at a time while the processor is busy', async () => {
    let [underWay, most] = [0, 0];
    const ask = await serve(PATIENT, async (_req, res) => {
      most = Math.max(most, ++underWay);
      await work();
      underWay--;
      res.end();
    });
    await Promise.all(Array.from({ length: 40 }, (_, at) => answered(ask(`/${at}`))));
    expect(began).toEqual(came);
    expect(most).toBe(8);
  });

  it('are served while any number of others wait for something else', async () => {
    const ask = await serve(new RequestQueue(), ({ path }, res) => void (path === '/quick' && res.end()));
    for (let at = 0; at < 50; at++) ask('/hangs');
    await expect(answered(ask('/quick'))).resolves.toBeDefined();
  });

  it('are served while any number of others have begun their response or are still being sent', async () => {
    const ended = new AbortController();
    const ask = await serve(PATIENT, async ({ path, method }, res) => {
      if (path === '/quick') return void res.end();
      if (method === 'POST') return;
      res.write('The beginning.');
      while (!ended.signal.aborted) await work();
    });
    for (let at = 0; at < 10; at++) ask('/written', at % 2 === 0 ? 'GET' : 'POST');
    for (let at = 0; at < 10; at++) ask('/sent', 'POST');
    await expect(answered(ask('/quick'))).resolves.toBeDefined();
    ended.abort();
  });

  it('do not start if the client has disconnected before their turn', async () => {
    const ended = new AbortController();
    const ask = await serve(PATIENT, async ({ path }, res) => {
      if (path === '/works') while (!ended.signal.aborted) await work();
      res.end();
    });
    const busy = Array.from({ length: 8 }, () => ask('/works'));
    await expect.poll(() => began.length, { interval: 1 }).toBe(8);
    const left = Promise.withResolvers<void>();
    server.once('request', (_req, res) => res.once('close', left.resolve));
    const late = ask('/late');
    await expect.poll(() => came.length, { interval: 1 }).toBe(9);
    late.destroy();
    await left.promise;
    ended.abort();
    await Promise.all([...busy.map(answered), answered(ask('/after'))]);
    expect(began).not.toContain('/late');
  });

  it('do not start if all connections are closed at once', async () => {
    const ended = new AbortController();
    const ask = await serve(PATIENT, async () => {
      while (!ended.signal.aborted) await work();
    });
    let open = 0;
    server.on('request', (_req, res) => {
      open++;
      res.once('close', () => open--);
    });
    for (let at = 0; at < 28; at++) ask(`/${at}`);
    await expect.poll(() => came.length, { interval: 1 }).toBe(28);
    server.closeAllConnections();
    await expect.poll(() => open, { interval: 1 }).toBe(0);
    ended.abort();
    expect(began).toHaveLength(8);
  });
});
