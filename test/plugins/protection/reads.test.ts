import { expect, test } from 'vitest';
import { Routes, sql } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { pages } from 'parley-forum/plugins/web';
import { useForum } from '../discussions/forum.ts';
import { settled } from '../events/settled.ts';

const forum = useForum({ 'api.rate_limit_user': 10_000 });
/** Read starts, and jobs that appear and finish by themselves. */
const MARKS = new Set(['read_start', 'job']);

/** The content of each table, except when members were last seen and view counts. */
async function contents(): Promise<Readonly<Record<string, string>>> {
  const { data } = forum.app.app;
  const tables = await data.all(
    sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    if (MARKS.has(name)) continue;
    const row = await data.one(
      sql<{
        digest: string;
      }>`select md5(coalesce(string_agg(r, '' order by r), '')) as digest from
        (select (to_jsonb(t) - array['last_seen_at', 'view_count'])::text as r from ${sql.ref(name)} t) rows`,
    );
    digests[name] = row!.digest;
  }
  return digests;
}

test('GET requests change nothing but presence and read marks, so no other site can forge a change', async () => {
  const made = await forum.start('ada', 'Only read');
  await settled(forum.app);
  const before = await contents();
  const addresses = [api, pages].flatMap((surface) =>
    forum.app.app
      .service(Routes)
      .list(surface)
      .filter(({ method, path }) => method === 'get' && !path.includes(':') && !path.includes('*') && path !== '/live')
      .map(({ path }) => `${surface.prefix === '/' ? '' : surface.prefix}${path}`),
  );
  expect(addresses.length).toBeGreaterThan(60);
  for (const address of [...addresses, `/d/${made.number}`, `/api/discussions/${made.id}`])
    for (const who of ['root', 'ada'] as const) {
      const { status } = await forum.as[who].get(address);
      expect([address, status < 500]).toEqual([address, true]);
    }
  await settled(forum.app);
  expect(await contents()).toEqual(before);
});
