import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Data, sql, failureOf } from 'parley-forum';
import { startForum } from 'parley-forum/testing';

test('a statement on a connection that broke before or during it is reported as 503', async () => {
  await using forum = await startForum();
  const data = forum.app.service(Data);
  const statusAfter = async (pause: number): Promise<number | undefined> => {
    const broken = data.transaction(async () => {
      await data.all(sql`select pg_terminate_backend(pg_backend_pid())`).catch(() => undefined);
      await sleep(pause);
      await data.all(sql`select 1`);
    });
    return failureOf(
      await broken.then(
        () => undefined,
        (error: unknown) => error,
      ),
    ).status;
  };
  expect([await statusAfter(0), await statusAfter(100)]).toEqual([503, 503]);
});
