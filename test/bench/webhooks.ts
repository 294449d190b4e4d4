import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Client } from '../kit/client.ts';
import { startChild } from './child.ts';
import { MEMBER, type Prepared } from './data.ts';
import { median } from './median.ts';
import { login, type Member } from './reads.ts';
import type { Result } from './report.ts';

const HEALTHY = 8;
/** Runs of each kind, in turn: what else the machine does meanwhile meets both alike. */
const TURNS = 3;
/** Milliseconds that the last deliveries of a run may take. */
const TIMEOUT = 120_000;
const JSON_ONLY = { accept: 'application/json' };

interface Run {
  /** Milliseconds from the first post until the healthy ones have everything. */
  readonly time: number;
  /** Milliseconds that the middle one of the posts took. */
  readonly post: number;
}

/**
 * Eight webhooks that answer, each to hear of many posts: with one more whose address is dead and one that hangs, and
 * without them.
 */
export async function measureWebhooks(
  environment: Readonly<Record<string, string>>,
  { discussions }: Prepared,
  quick: boolean,
): Promise<readonly Result[]> {
  const events = quick ? 200 : 1_000;
  await using forum = await startChild('forum.ts', { ...environment, WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1' });
  await forum.ask({ do: 'calm' });
  const admin = createClient(forum.url);
  await admin.login('bench-admin', MEMBER.password);
  const member = await login(forum.url);
  const heard = new Map<string, number>();
  const answering = await listen((path) => void heard.set(path, (heard.get(path) ?? 0) + 1));
  const hanging = await listen();
  const dead = await listen();
  const urls = [
    ...Array.from({ length: HEALTHY }, (_, at) => `${urlOf(answering)}/${at}`),
    `${urlOf(hanging)}/`,
    `${urlOf(dead)}/`,
  ];
  dead.close();
  try {
    const ids: string[] = [];
    for (const url of urls)
      ids.push(
        (
          await post(admin, '/admin/webhooks/save', {
            name: url,
            url,
            events: ['post.created'],
            active: ids.length < HEALTHY,
          })
        ).webhook.id,
      );
    const bad = ids.slice(HEALTHY);
    const run = async (count: number): Promise<Run> => {
      heard.clear();
      const start = performance.now();
      const times: number[] = [];
      for (let n = 0; n < count; n++) times.push(await write(forum.url, member, discussions[n % discussions.length]!));
      const complete = (): boolean => heard.size === HEALTHY && [...heard.values()].every((had) => had >= count);
      for (const deadline = performance.now() + TIMEOUT; !complete() && performance.now() < deadline;) await sleep(5);
      if (!complete()) throw new Error(`of ${count} events the webhooks have ${[...heard.values()].join(', ')}`);
      return { time: performance.now() - start, post: median(times) };
    };
    await run(20);
    const [without, beside]: [Run[], Run[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      without.push(await run(events));
      for (const id of bad) await post(admin, '/admin/webhooks/save', { id, active: true });
      beside.push(await run(events));
      for (const id of bad) await post(admin, '/admin/webhooks/save', { id, active: false });
    }
    const middle = (runs: readonly Run[], what: keyof Run): number => median(runs.map((one) => one[what]));
    return [
      {
        name: `${events} events to ${HEALTHY} webhooks beside a dead and a hanging one`,
        value: middle(beside, 'time'),
        unit: 'ms',
        ratio: middle(beside, 'time') / middle(without, 'time'),
        goal: 1.5,
        atMost: true,
      },
      {
        name: 'POST /api/posts meanwhile, median',
        value: middle(beside, 'post'),
        unit: 'ms',
        ratio: middle(beside, 'post') / middle(without, 'post'),
        goal: 1.1,
        atMost: true,
      },
    ];
  } finally {
    for (const server of [answering, hanging]) {
      server.close();
      server.closeAllConnections();
    }
  }
}

/** A server that answers, or one that never does. */
async function listen(hear?: (path: string) => void): Promise<Server> {
  const server = createServer((req, res) => {
    req.resume();
    if (!hear) return;
    hear(req.url ?? '');
    res.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as { port: number }).port}`;

async function post(client: Client, path: string, body: object): Promise<any> {
  const answer = await client.post(path, body, JSON_ONLY);
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** Milliseconds that one post took. */
async function write(url: string, { headers }: Member, discussion: string): Promise<number> {
  const start = performance.now();
  const body = JSON.stringify({ discussion_id: discussion, content: 'A reply that others are told of.' });
  const answer = await fetch(`${url}/api/posts`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  await answer.arrayBuffer();
  if (answer.status !== 201) throw new Error(`a post was answered with ${answer.status}`);
  return performance.now() - start;
}
