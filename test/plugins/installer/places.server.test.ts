import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { makeTestPlace } from '../../kit/database.ts';
import { migrated } from '../../kit/migrated.ts';
import { openSite, PASSWORD } from './site.ts';

/** How long a forum may take to open on its own data. */
const SOON = { timeout: 30_000 };
const REDIS = process.env['TEST_REDIS_URL'] ?? '';

/** Two processes create an embedded database from scratch here. */
const LONG = 240_000;

test(
  'the process switches to a database server chosen in the browser, on the same port',
  async () => {
    const place = await makeTestPlace(migrated());
    const database = place.url!;
    const variables = { DATABASE_URL: '', REDIS_URL: '' };
    try {
      await using site = await openSite({ place, variables });
      const { client, send, ready, install } = await site.invited();
      await send('site', { site_name: 'The Quay' });
      const missing = new URL(database);
      missing.pathname = '/no_such_database_here';
      expect((await send('services', { database_url: missing.href, test: 'database' })).text).toContain(
        'has no database called no_such_database_here',
      );
      expect((await send('services', { database_url: database, test: 'database' })).text).toMatch(
        /PostgreSQL [\d.]+ answers and can be used/,
      );
      expect((await send('services', { redis_url: REDIS, test: 'redis' })).text).toContain(
        'Redis answers and can be used',
      );
      await ready({ database: 'server', database_url: database, redis_url: REDIS });
      expect((await install()).status).toBe(303);
      // Connections are never refused in between: the port stays open.
      await expect.poll(async () => (await client.get('/')).status, SOON).toBe(200);
      expect(site.running.app!.environment).toMatchObject({ databaseUrl: database, redisUrl: REDIS });
      const kept: unknown = JSON.parse(await readFile(join(site.folder, 'config.json'), 'utf8'));
      expect(kept).toMatchObject({
        database_url: database,
        redis_url: REDIS,
        installed_at: expect.any(String) as string,
      });
      await site.client().login('ada', PASSWORD);
      expect((await client.get('/install')).status).toBe(403);
      await site.running.close();
      await using later = await openSite({ place, variables });
      expect(later.printed).toEqual([]);
      await later.client().login('ada', PASSWORD);

      const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
      await using elsewhere = await openSite({
        place: { url: undefined, folder, remove: () => rm(folder, { recursive: true }) },
        variables,
      });
      const other = await elsewhere.invited();
      await other.send('site', { site_name: 'The Quay' });
      expect((await other.send('services', { database_url: database, test: 'database' })).text).toContain(
        'There is a forum in this database already',
      );
      await elsewhere.running.close();
      await rm(folder, { recursive: true });
    } finally {
      await place.remove();
    }
  },
  LONG,
);

test(
  'of two processes on one database, one installs; the other gets 409 and serves the same forum',
  async () => {
    const place = await makeTestPlace(migrated());
    const other = await mkdtemp(join(tmpdir(), 'parley-test-'));
    try {
      await using first = await openSite({ place });
      await using second = await openSite({ place, variables: { DATA_DIR: other } });
      const browsers = [await first.invited(), await second.invited()];
      for (const { ready } of browsers) await ready({});
      const answers = await Promise.all(
        browsers.map(({ install }, at) => install({ username: `ada${at}`, email: `ada${at}@example.org` })),
      );
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 409]);
      const made = await Promise.all(
        ['ada0', 'ada1'].map((name) => first.running.app!.service(Accounts).findByIdentifier(name)),
      );
      expect(made.filter(Boolean)).toHaveLength(1);
      for (const site of [first, second]) {
        await expect.poll(async () => (await site.client().get('/')).status, SOON).toBe(200);
        expect((await site.client().get(site.link)).status).toBe(403);
      }
    } finally {
      await rm(other, { recursive: true });
      await place.remove();
    }
  },
  LONG,
);
