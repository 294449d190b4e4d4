import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startReceiver, verify } from '../../plugins/webhooks/receiver.ts';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal } from './journal.ts';
import { JSON_ONLY } from './prepared.ts';
import type { Scenario } from './scenario.ts';

const WRITERS = 3;
const MINUTES = 60_000;
/**
 * Where the clock is moved to, in milliseconds from the true time: there and back in both directions. It ends where it
 * was latest, because work that was stored and not begun before a move back is due when the clock is there again.
 */
const MOVES = [5 * MINUTES, 0, -5 * MINUTES, 0, 5 * MINUTES];

/** The clock of the machine is moved by five minutes and back while members write. */
export const clockMoved: Scenario = {
  id: 'clock',
  name: 'Clock moved by 5 minutes',
  leftOut: () => undefined,
  async run(ground) {
    const found = new Findings();
    await using receiver = await startReceiver();
    const prepared = await ground.forums.next();
    const file = join(prepared.place.folder, 'clock');
    writeFileSync(file, '0');
    const preload = pathToFileURL(join(import.meta.dirname, 'moved-clock.ts')).href;
    await using forum = await Forum.open(prepared, { NODE_OPTIONS: `--import=${preload}`, CLOCK_FILE: file });
    const member = await forum.member();
    const { status, text, body } = await member.post(
      '/admin/webhooks/save',
      { name: 'Witness', url: receiver.url, events: ['post.created'] },
      JSON_ONLY,
    );
    if (status !== 201) throw new Error(text);
    const journal = new Journal(forum, ground);
    const over = new AbortController();
    const writing = journal.write(WRITERS, over.signal);
    for (let round = 0; round < (ground.long ? 5 : 1); round++) {
      for (const move of MOVES) {
        writeFileSync(file, String(move));
        forum.server.signal('SIGUSR2');
        const answered = journal.answered.size;
        const off = `with the clock ${move / MINUTES} minutes off`;
        found.check(
          (await within(30, async () => journal.answered.size > answered + 10)) !== undefined,
          `nothing is written ${off}`,
        );
        found.equal((await member.get('/settings/security')).status, 200, `the session ${off}`);
        const { headers: seen } = await forum.call('/api/discussions?limit=1');
        const reset = Number(seen.get('x-ratelimit-reset')) * 1_000 - Date.now() - move;
        const free = Number(seen.get('x-ratelimit-remaining')) > 0;
        found.check(free && reset <= MINUTES + 2_000, `a limit holds for ${Math.round(reset / 1_000)} s ${off}`);
        await sleep(ground.long ? 3_000 : 0);
      }
    }
    over.abort();
    await writing;
    const sent = (): readonly string[] => receiver.received.map(({ body: { data } }) => data.post.id as string);
    const undelivered = (): number => [...journal.answered.values()].filter(({ id }) => !sent().includes(id)).length;
    found.check(
      (await within(60, async () => undelivered() === 0)) !== undefined,
      `${undelivered()} posts were never sent to the webhook`,
    );
    const repeated =
      receiver.received.length - new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size;
    for (const received of receiver.received.slice(-3)) verify(body.secret, received);
    const tried =
      `forward, back, back again and forward, ${ground.long ? 5 : 1} times, while ${WRITERS} members wrote; ` +
      `${journal.answered.size} posts answered, each sent to a webhook, ${repeated} of them twice; the session stayed valid, no limit lasted longer`;
    return { tried, lost: [...found.lost, ...(await journal.lost())] };
  },
};
