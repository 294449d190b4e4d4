import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, Response } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, editProfile, Sessions } from 'parley-forum/plugins/accounts';
import { defineAction, defineFilter, HookBus } from '../../core/hooks.ts';
import type { App } from '../../core/host/app.ts';
import { createLogger } from '../../core/host/logger.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { startChild } from './child.ts';
import type { Visitor } from './crowd/requests.ts';
import { enter } from './crowd/visitors.ts';
import { MEMBER } from './data.ts';
import type { Result } from './report.ts';

const CALLS = 2_000;
const ROUNDS = 20;
/** Microseconds of a request that none of these may take. */
const GOAL = 20;

/** Microseconds per awaited call, the least of twenty rounds: what the code costs, without what disturbed it. */
async function cost(call: () => unknown): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let n = 0; n < CALLS; n++) await call();
    least = Math.min(least, ((performance.now() - start) * 1_000) / CALLS);
  }
  return least;
}

/** What the kernel and the check of who calls cost each request. */
export async function measureKernel(environment: Readonly<Record<string, string>>): Promise<readonly Result[]> {
  await using forum = await startChild('forum.ts', environment);
  const { id } = await forum.ask<{ id: string }>({ do: 'member' });
  const visitor = await enter(forum.url, id);
  const costs = [...(await hookCosts()), ...(await forum.ask<Costs>({ do: 'kernel', visitor }))];
  return costs.map(([name, value, goal]) => ({ name, value, unit: 'µs', ratio: undefined, goal, atMost: true }));
}

/** Names, microseconds and goals. */
type Costs = readonly (readonly [string, number, number])[];

/** Of the hook bus itself, in this process, without a database. */
async function hookCosts(): Promise<Costs> {
  const supervisor = new Supervisor(createLogger({ level: 'silent', format: 'json' }));
  const bus = new HookBus(supervisor);
  const quiet = defineAction<number>('bench.quiet');
  const loud = defineAction<number>('bench.loud');
  const value = defineFilter<number>('bench.value');
  for (let n = 0; n < 10; n++) {
    bus.listen('bench', loud, async () => undefined);
    bus.listen('bench', value, (given: number) => given + 1);
  }
  const costs: Costs = [
    ['emit without a listener', await cost(() => bus.emit(quiet, 1)), 0.5],
    ['emit to ten listeners', await cost(() => bus.emit(loud, 1)), 10],
    ['filter with ten synchronous listeners', await cost(() => bus.filter(value, 1, undefined)), 3],
  ];
  supervisor.close();
  return costs;
}

/** A request as it comes in over a connection, without the connection. */
function exchange(path: string, headers: Visitor = {}): { readonly req: Request; readonly res: Response } {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: '127.0.0.1' });
  const req = Object.assign(new IncomingMessage(socket), { method: 'GET', url: path, path, query: {}, headers });
  return { req: req as unknown as Request, res: new ServerResponse(req) as unknown as Response };
}

/** Of a running forum, in its process. */
export async function kernelCosts(app: App, visitor: Visitor): Promise<Costs> {
  const [access, sessions] = [app.service(Access), app.service(Sessions)];
  const member = await app.service(Accounts).findByIdentifier(MEMBER.username);
  const viewer = { id: member!.id, username: member!.username, group: access.groupOf('member') };
  const answered = async (): Promise<unknown> => {
    const { req, res } = exchange('/bench/idle/7');
    const { promise, resolve } = Promise.withResolvers<void>();
    app.routes.middleware(req, Object.assign(res, { end: () => resolve() }), () => resolve());
    return promise;
  };
  const identified = async (): Promise<unknown> => {
    const { req, res } = exchange('/', visitor);
    await new Promise<void>((next) => void sessions.middleware(req, res, () => next()));
    return sessions.authenticate(req, res);
  };
  const before = await cost(() => exchange('/'));
  return [
    ['route and surface of a request', (await cost(answered)) - before, GOAL],
    ['permission check', await cost(() => access.allows(viewer, editProfile)), GOAL],
    ['session of a request', (await cost(identified)) - before, GOAL],
  ];
}
