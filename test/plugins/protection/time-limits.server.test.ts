import { afterAll, beforeAll, expect, test } from 'vitest';
import { Data, definePlugin, sql, Type } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { startForum, type TestForum } from 'parley-forum/testing';

/** A plugin whose statement exceeds the statement timeout, which is short here. */
const slow = definePlugin({
  id: 'slow',
  needs: { data: Data },
  setup({ data }, plugin) {
    plugin.route(api, { method: 'get', path: '/slow', can: 'public', result: Type.Object({}) })(async () => {
      await data.transaction(async () => {
        await data.all(sql`set local statement_timeout = 50`);
        await data.all(sql`select pg_sleep(20)`);
      });
      return {};
    });
  },
});

let forum: TestForum;
beforeAll(async () => {
  forum = await startForum({ also: [slow] });
});
afterAll(() => forum[Symbol.asyncDispose]());

test('statements time out after 30 seconds, and idle transactions after a minute', async () => {
  const limit = async (name: string) =>
    (await forum.app.data.one(sql<{ limit: string }>`select current_setting(${name}) as limit`))!.limit;
  expect([await limit('statement_timeout'), await limit('idle_in_transaction_session_timeout')]).toEqual([
    '30s',
    '1min',
  ]);
});

test('a statement that times out is cancelled, answered with 503, and logged', async () => {
  const { status, body, headers } = await forum.client().get('/api/slow');
  expect([status, body.success, headers.has('retry-after')]).toEqual([503, false, true]);
  expect(forum.lines.some(({ level, error }) => level === 'error' && /statement timeout/.test(String(error)))).toBe(
    true,
  );
});

test('an idle connection is kept for 65 seconds', async () => {
  const { headers } = await fetch(`${forum.url}/healthz`);
  expect(headers.get('keep-alive')).toBe('timeout=65');
});
