import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal, wordOf } from './journal.ts';
import type { Scenario } from './scenario.ts';

/** Seconds within which a process ends that was told to. */
const LIMIT = 10;
const WRITERS = 4;
/** Requests that wait for their bodies. */
const UNDER_WAY = 16;

/**
 * SIGTERM to `npm start` as a whole process group while members write, and while requests whose head was read wait for
 * their bodies.
 */
export const stopping: Scenario = {
  id: 'stopping',
  name: 'SIGTERM under load',
  leftOut: () => undefined,
  async run(ground) {
    const rounds = ground.long ? 10 : 1;
    const found = new Findings();
    await using forum = await Forum.open(await ground.forums.next(), {}, ['npm', 'start']);
    const journal = new Journal(forum, ground);
    let slowest = 0;
    let finished = 0;
    for (let round = 0; round < rounds; round++) {
      const over = new AbortController();
      const writing = journal.write(WRITERS, over.signal);
      const underWay = await Promise.all(
        Array.from({ length: UNDER_WAY }, (_, at) => begin(forum, `Under way ${wordOf(`way${round}and${at}`)}`)),
      );
      const began = performance.now();
      forum.server.signal('SIGTERM');
      found.check((await within(5, () => refused(forum.url))) !== undefined, 'new requests were still taken');
      for (const finish of underWay)
        finished += found.equal(await finish().catch(String), 201, 'an active request was answered') ? 1 : 0;
      found.equal(await forum.server.ended, { code: 0, signal: null }, 'how the process ended');
      slowest = Math.max(slowest, (performance.now() - began) / 1_000);
      over.abort();
      await forum.start();
      await writing;
    }
    found.check(slowest < LIMIT, `a process took ${slowest.toFixed(1)} s to end`);
    const tried =
      `${rounds} times, ${WRITERS} members writing; ${finished} of ${rounds * UNDER_WAY} active requests answered, ` +
      `exit after ${slowest.toFixed(1)} s at most, exit 0`;
    return { tried, lost: [...found.lost, ...(await journal.lost())] };
  },
};

/** Nobody listens there any more, nor on connections that were kept. */
const refused = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    () => false,
    () => true,
  );

/** A request whose head the server has read and whose body it waits for; resolves to what finishes it. */
async function begin(
  { url, prepared: { token, discussions } }: Forum,
  content: string,
): Promise<() => Promise<number | undefined>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' };
  const under = request(`${url}/api/posts`, { method: 'POST', headers, agent: false });
  under.flushHeaders();
  await once(under, 'continue');
  const answering = once(under, 'response');
  // Told by what finishes it; until then nobody listens.
  answering.catch(() => undefined);
  return async () => {
    under.end(JSON.stringify({ discussion_id: discussions[0], content }));
    const [answer] = await answering;
    await text(answer);
    return answer.statusCode;
  };
}
