import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../core/host/databases/open.ts';
import { sql } from '../../core/data/database.ts';
import { createCluster } from '../../core/cluster.ts';
import type { Delivery } from '../../core/hooks.ts';
import { JobQueue } from '../../core/jobs/queue.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { makeTestPlace, migrateKernel, onServer, testLog } from '../kit/database.ts';

const supervisor = new Supervisor(testLog);
afterAll(() => supervisor.close());

const child = (
  what: string,
  place: { folder: string; url: string | undefined },
): { process: ChildProcess; says(word: string): Promise<void> } => {
  const process_ = spawn(
    process.execPath,
    [join(import.meta.dirname, 'fixtures/worker.ts'), what, place.folder, place.url ?? ''],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let output = '';
  process_.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  onTestFinished(() => void process_.kill('SIGKILL'));
  return {
    process: process_,
    says: (word) => vi.waitFor(() => expect(output).toContain(word), { timeout: 15_000, interval: 10 }),
  };
};

describe('several worker processes', () => {
  it('lose no job when one is killed while running it', async () => {
    const place = await makeTestPlace();
    onTestFinished(() => place.remove());
    const { process: victim, says } = child('die', place);
    await says('running');
    victim.kill('SIGKILL');
    await once(victim, 'close');
    const survivor = await openDatabase({ ...place, log: testLog });
    const heard: [string, unknown, number][] = [];
    const queue = new JobQueue({ data: survivor, supervisor, log: testLog, cluster: createCluster(testLog) });
    for (const action of ['waits', 'hangs'])
      queue.listen(
        'test',
        action,
        (payload: unknown, { attempt }: Delivery) => void heard.push([action, payload, attempt]),
      );
    // On a server the lease determines when its process counts as dead: this lets it expire.
    await survivor.all(sql`update job set run_at = now()`);
    await queue.start();
    await vi.waitFor(
      () =>
        expect(new Set(heard)).toEqual(
          new Set([
            ['hangs', 'kept too', 2],
            ['waits', 'kept', 1],
          ]),
        ),
      { timeout: 15_000, interval: 5 },
    );
    await queue.stop();
    await survivor.close();
  });

  it.runIf(onServer)('share the limit per key', async () => {
    const place = await makeTestPlace();
    onTestFinished(() => place.remove());
    const here = await openDatabase({ ...place, log: testLog });
    await migrateKernel(here);
    await here.all(
      sql`create table trace (id integer generated always as identity, key text, process integer, began timestamptz, ended timestamptz)`,
    );
    const workers = [child('trace', place), child('trace', place)];
    for (const worker of workers) await worker.says('ready');
    await here.all(
      sql`insert into job (id, listener, key, payload) select gen_random_uuid(), 'test/keyed', 'k' || n % 8, jsonb_build_object('key', 'k' || n % 8) from generate_series(1, 200) n`,
    );
    for (const { process: worker } of workers) worker.stdin?.write('there is work');
    await vi.waitFor(
      async () =>
        expect(await here.one(sql`select count(*) as n from trace where ended is not null`)).toEqual({ n: 200 }),
      { timeout: 20_000, interval: 20 },
    );
    const overlapping = await here.one(
      sql`select count(*) as n from trace a join trace b on a.key = b.key and a.id < b.id and b.began < a.ended and a.began < b.ended`,
    );
    expect(overlapping).toEqual({ n: 0 });
    expect(await here.one(sql`select count(distinct process) as n from trace`)).toEqual({ n: 2 });
    for (const { process: worker } of workers) {
      worker.kill('SIGTERM');
      expect(await once(worker, 'close')).toEqual([0, null]);
    }
    await here.close();
  });
});
