import { setTimeout as sleep } from 'node:timers/promises';
import { within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal } from './journal.ts';
import type { Scenario } from './scenario.ts';

const WRITERS = 6;

/** The process is killed while members write, at a moment nobody chose, and started again. */
export const killed: Scenario = {
  id: 'killed',
  name: '`kill -9` under load',
  leftOut: () => undefined,
  async run(ground) {
    const rounds = ground.long ? 50 : 1;
    await using forum = await Forum.open(await ground.forums.next());
    const journal = new Journal(forum, ground);
    const over = new AbortController();
    const writing = journal.write(WRITERS, over.signal);
    for (let round = 0; round < rounds; round++) {
      const enough = journal.answered.size + 5 + Math.floor(Math.random() * 20);
      if ((await within(60, async () => journal.answered.size >= enough)) === undefined)
        throw new Error(`in round ${round + 1} nothing is answered any more`);
      await sleep(Math.random() * 50);
      await forum.server.end('SIGKILL');
      await forum.start();
    }
    over.abort();
    await writing;
    const tried =
      `${rounds} kills while ${WRITERS} members wrote and retried with the same Idempotency-Key; ` +
      `${journal.answered.size} posts answered, ${journal.refused.get('no answer') ?? 0} requests cut off and retried`;
    return { tried, lost: await journal.lost() };
  },
};
