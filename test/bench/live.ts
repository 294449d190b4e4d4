import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './child.ts';
import type { Prepared } from './data.ts';
import { login, type Member } from './reads.ts';
import type { Result } from './report.ts';

const STREAMS = 2_000;
/** Streams that are opened at once. */
const TOGETHER = 50;
const POSTS = 20;
/** Milliseconds from one post to the next. */
const PAUSE = 500;
/** Milliseconds that what is on its way has to arrive. */
const TIMEOUT = 10_000;

/** What 2,000 open streams of a member cost a fresh process, and how soon all of them hear of a post. */
export async function measureLive(
  environment: Readonly<Record<string, string>>,
  { discussions }: Prepared,
): Promise<readonly Result[]> {
  await using forum = await startChild('forum.ts', environment);
  await forum.ask({ do: 'calm' });
  const member = await login(forum.url);
  const times: number[] = [];
  const sent = new Map<string, number>();
  const hear = (text: string): void => {
    for (const [mark = ''] of text.matchAll(/(?<="content":")heard \d+/g))
      times.push(performance.now() - sent.get(mark)!);
  };
  const post = async (mark: string): Promise<void> => {
    sent.set(mark, performance.now());
    const headers = { ...member.headers, 'content-type': 'application/json' };
    const answer = await fetch(`${forum.url}/api/posts`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ discussion_id: discussions[0], content: mark }),
    });
    if (answer.status !== 201) throw new Error(`a post was answered with ${answer.status}`);
  };
  // What the first streams and posts need once is no part of what each costs.
  for (const socket of await open(forum.url, member, TOGETHER, () => undefined)) socket.destroy();
  await post('warm');
  await sleep(1_000);
  const before = await forum.memory();
  const sockets = await open(forum.url, member, STREAMS, hear);
  for (let n = 0; n < POSTS; n++) {
    await post(`heard ${n}`);
    await sleep(PAUSE);
  }
  for (const deadline = performance.now() + TIMEOUT; times.length < STREAMS * POSTS && performance.now() < deadline;)
    await sleep(10);
  const memory = (await forum.memory()) - before;
  for (const socket of sockets) socket.destroy();
  if (times.length !== STREAMS * POSTS) throw new Error(`${times.length} messages arrived of ${STREAMS * POSTS}`);
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
  return [
    { name: `memory of ${STREAMS} open streams`, value: memory, unit: 'MiB', ratio: undefined, goal: 60, atMost: true },
    {
      name: `a post reaches ${STREAMS} streams, 99 of 100 within`,
      value: p99,
      unit: 'ms',
      ratio: undefined,
      goal: 1_000,
      atMost: true,
    },
  ];
}

/** Bare connections, so that the readers take as little as can be of the machine that both sides share. */
async function open(
  url: string,
  { headers }: Member,
  count: number,
  hear: (text: string) => void,
): Promise<readonly Socket[]> {
  const { host, hostname, port } = new URL(url);
  const request = [
    'GET /api/live HTTP/1.1',
    `host: ${host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    sockets.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(TOGETHER, count - sockets.length) }, async () => {
          const socket = connect(Number(port), hostname).setEncoding('utf8');
          socket.write(request);
          const [first] = (await once(socket, 'data')) as [string];
          if (!first.startsWith('HTTP/1.1 200')) throw new Error(`a stream was answered with ${first.slice(0, 100)}`);
          return socket.on('data', hear);
        }),
      )),
    );
  }
  return sockets;
}
