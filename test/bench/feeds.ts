import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { App } from '../../core/host/app.ts';
import { sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Discussions, discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { Child } from './child.ts';
import { median } from './median.ts';
import { AGENT, besideBare } from './reads.ts';
import type { Result } from './report.ts';

const FEEDS = ['/feed/rss', '/feed/atom', '/feed/json'] as const;
const ROUNDS = 60;

/** Warm feeds of guests. */
export const measureFeeds = (forum: Child, seconds: number): Promise<readonly Result[]> =>
  besideBare(
    forum,
    FEEDS.map((path) => ({ name: `guest: GET ${path}`, path, headers: AGENT, goal: 0.6 })),
    seconds,
  );

export interface FeedCosts {
  /** Milliseconds from a purge of everything a feed shows until it has been sent again, the median. */
  readonly rebuilt: number;
  /** The same of reading its discussions by their ids. */
  readonly lookup: number;
}

/**
 * In turns, so that whatever else the machine does meets both. The feed is asked for over the port; reading by id is a
 * call in this process.
 */
export async function feedCosts(app: App, port: number): Promise<FeedCosts> {
  // As the server does by itself some minutes after so much was written.
  await app.data.all(sql`analyze`);
  const [discussions, { guest }] = [app.service(Discussions), app.service(Access)];
  const { items } = await discussions.list({ sort: 'newest', limit: 20 }, guest);
  const ids = items.map(({ id }) => id);
  const purge = (): Promise<void> =>
    app.cache.purge(discussionCacheTags.lists, discussionCacheTags.all, ...ids.map(discussionCacheTags.discussion));
  const agent = new Agent({ keepAlive: true });
  const [rebuilds, lookups]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    await purge();
    lookups.push(await timed(() => discussions.records(ids, guest)));
    rebuilds.push(
      await timed(async () => {
        await purge();
        await read(`http://127.0.0.1:${port}${FEEDS[round % FEEDS.length]}`, agent);
      }),
    );
  }
  agent.destroy();
  return { rebuilt: median(rebuilds), lookup: median(lookups) };
}

/** On a connection that is open already: what is measured is the forum, not its client. */
async function read(url: string, agent: Agent): Promise<void> {
  const [response] = (await once(get(url, { agent }), 'response')) as [NodeJS.ReadableStream];
  await once(response.resume(), 'end');
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
