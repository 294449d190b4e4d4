import { execFile } from 'node:child_process';
import { closeSync, cpSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal } from './journal.ts';
import type { Prepared } from './prepared.ts';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);
const SIZE = '256m';
const WRITERS = 4;
const CHUNK = Buffer.alloc(64 * 1024);

/** The file system of DATA_DIR runs full while members write, stays so, and is given room again. */
export const diskFull: Scenario = {
  id: 'disk-full',
  name: 'Disk full',
  leftOut({ database }) {
    if (database === 'server') return 'the data lies on the server';
    return process.getuid?.() === 0 ? undefined : 'only root may mount a small file system';
  },
  async run({ long, forums }) {
    const found = new Findings();
    await using forum = await Forum.open(await onSmallDisk(await forums.next()));
    const journal = new Journal(forum, { long });
    const over = new AbortController();
    const writing = journal.write(WRITERS, over.signal);
    const rounds = long ? 5 : 1;
    for (let round = 0; round < rounds; round++) {
      await within(30, async () => journal.answered.size > 10 * (round + 1));
      const filling = fill(forum.prepared.place.folder);
      const refused = await within(30, async () => (journal.refused.get('507') ?? 0) > 10 * (round + 1));
      found.check(refused !== undefined, 'writers were never told that there is no room');
      // Until the next look at the disk, what finds room in a page that is there is still taken.
      await sleep(1_500);
      const answered = journal.answered.size;
      for (const path of ['/', '/categories', '/api/discussions', '/healthz']) {
        found.equal((await forum.guest().get(path)).status, 200, `GET ${path} on a full disk`);
      }
      await sleep(long ? 10_000 : 500);
      found.equal(journal.answered.size, answered, 'posts answered on a full disk');
      filling.end();
      const again = await within(30, async () => journal.answered.size > answered + 5);
      found.check(again !== undefined, 'writing did not go on after room was made');
    }
    over.abort();
    await writing;
    const lost = [...(await journal.lost())];
    await forum.server.end('SIGKILL');
    await forum.start();
    lost.push(...(await journal.lost()));
    const tried =
      `${rounds} times filled completely while ${WRITERS} members wrote; ` +
      `${journal.refused.get('507') ?? 0} requests answered 507 and retried, ` +
      `${journal.answered.size} posts answered, pages read meanwhile, then a kill and a start`;
    return { tried, lost: [...new Set([...found.lost, ...lost])] };
  },
};

async function onSmallDisk({ place, ...prepared }: Prepared): Promise<Prepared> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-full-'));
  await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder]);
  cpSync(place.folder, folder, { recursive: true });
  await place.remove();
  const remove = async (): Promise<void> => {
    await run('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  };
  return { ...prepared, place: { url: undefined, folder, remove } };
}

/** Takes all the room there is, and what becomes free, until its end. */
function fill(folder: string): { end(): void } {
  const path = join(folder, 'filling');
  const file = openSync(path, 'w');
  const take = (): void => {
    try {
      while (writeSync(file, CHUNK) > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  };
  take();
  const timer = setInterval(take, 20);
  return {
    end() {
      clearInterval(timer);
      closeSync(file);
      rmSync(path);
    },
  };
}
