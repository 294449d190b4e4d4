import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Progress } from 'parley-forum/plugins/installer';
import { readEnvironment } from '../../../config/environment.ts';
import { ConnectionTests } from '../../../plugins/installer/wizard/connection-tests.ts';
import { openSite, PASSWORD, type Site } from './site.ts';

/** Several forums start, and an embedded database is created from scratch even if there is a database server. */
const LONG = 120_000;
/** How long a forum may take to open after its installation. */
const SOON = { timeout: 20_000 };
const opened = async (site: Site): Promise<void> => {
  await expect.poll(async () => (await site.client().get('/')).status, SOON).toBe(200);
};

describe('demo content', () => {
  test(
    'is written while the server keeps running, and a page shows the progress',
    async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      await using site = await openSite({
        fill: (progress) => {
          progress('3 members');
          return promise;
        },
      });
      const [own, other] = [await site.invited(), await site.invited()];
      await own.ready();
      expect((await own.client.get('/install/administrator')).text).toContain('name="demo"');
      expect((await own.install({ demo: '1' })).headers.get('location')).toBe('/login');
      expect((await own.client.get('/login')).headers.get('location')).toBe('/install');
      expect((await own.client.get('/install')).headers.get('location')).toBe('/install/progress');
      const { status, headers, text } = await own.client.get('/install/progress');
      expect([status, headers.get('refresh')]).toEqual([200, '2; url=/login']);
      expect(text).toContain('<p class="line" role="status">3 members</p>');
      expect((await site.client().get('/readyz')).status).toBe(200);
      expect((await own.client.get('/install/site')).headers.get('location')).toBe('/install/progress');
      expect((await other.client.get('/install/progress')).status).toBe(403);
      // However long it takes, the welcome notice is kept until the end.
      expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^notice=\S+; Max-Age=60; Path=\/;.* HttpOnly/)]);
      resolve();
      await opened(site);
      expect((await own.client.get('/login')).text).toContain('Your forum is ready. Log in as ada.');
      await site.client().login('ada', PASSWORD);
    },
    LONG,
  );

  test(
    'can be started again after a failure, even with another password',
    async () => {
      let rounds = 0;
      const fill = async (progress: Progress): Promise<void> => {
        progress('3 members');
        await new Promise((resolve) => setImmediate(resolve));
        if (++rounds === 1) throw new Error('the disk is full');
      };
      await using site = await openSite({ fill });
      const { client, ready, install } = await site.invited();
      await ready();
      await install({ demo: '1', password: 'Another-boat 8', password_confirmation: 'Another-boat 8' });
      await expect
        .poll(async () => (await client.get('/install/progress')).text)
        .toContain('The installation failed: the disk is full');
      expect((await client.get('/')).headers.get('location')).toBe('/install');
      expect((await client.get('/install/administrator')).text).toContain('checked');
      await install({ demo: '1' });
      await opened(site);
      await site.client().login('ada', PASSWORD);
    },
    LONG,
  );
});

describe('a configuration file in the data directory', () => {
  test('that says a forum is installed closes the installer, whatever is in the database', async () => {
    await using first = await openSite();
    const file = join(first.folder, 'config.json');
    await first.running.close();
    await writeFile(file, JSON.stringify({ installed_at: '2026-01-15T12:00:00.000Z' }));
    const place = {
      url: first.running.app?.environment.databaseUrl,
      folder: first.folder,
      remove: () => Promise.resolve(),
    };
    await using site = await openSite({ place });
    expect(site.printed).toEqual([
      expect.stringContaining(`${file} says that a forum was installed here, but there is none in the database`),
    ]);
    const { status, text } = await site.client().get('/install');
    expect([status, text.includes('Already installed'), text.includes('Its database has none')]).toEqual([
      403,
      true,
      true,
    ]);
    expect((await site.client().get('/')).headers.get('location')).toBe('/install');
  });

  test('applies where no environment variable is set, and is reported at startup if it is invalid', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
    const file = join(folder, 'config.json');
    const read = (variables: Readonly<Record<string, string>> = {}) =>
      readEnvironment({ DATA_DIR: folder, ...variables });
    await writeFile(file, JSON.stringify({ database_url: 'postgres://kept/parley', redis_url: 'redis://kept' }));
    expect(read()).toMatchObject({ databaseUrl: 'postgres://kept/parley', redisUrl: 'redis://kept' });
    expect(read({ DATABASE_URL: 'postgres://wins/parley' })).toMatchObject({
      databaseUrl: 'postgres://wins/parley',
      redisUrl: 'redis://kept',
    });
    await writeFile(
      file,
      JSON.stringify({
        smtp_url: 'smtps://kept.example',
        mail_from: 'a@kept.example',
        trusted_proxies: ['127.0.0.1', '10.0.0.0/8'],
        webhooks_allowed_hosts: 'a.example b.example',
        webhooks_allowed_ports: [8443],
      }),
    );
    expect(read()).toMatchObject({
      smtpUrl: 'smtps://kept.example',
      mailFrom: 'a@kept.example',
      trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
      allowedHosts: ['a.example', 'b.example'],
      allowedPorts: [8443],
    });
    expect(read({ TRUSTED_PROXIES: '::1', WEBHOOKS_ALLOWED_PORTS: '443, 9000' })).toMatchObject({
      trustedProxies: ['::1'],
      allowedPorts: [443, 9000],
    });
    const wrong = {
      TRUSTED_PROXIES: '127.0.0.1,the-proxy',
      WEBHOOKS_ALLOWED_PORTS: '443,0',
      SMTP_URL: 'mail.example.org',
      MAIL_FROM: 'nobody',
    };
    for (const name of Object.keys(wrong)) expect(() => read(wrong)).toThrow(`${name}=`);
    await writeFile(file, '\n');
    expect(read()).toMatchObject({ databaseUrl: undefined, redisUrl: undefined });
    await writeFile(file, '{ "database_url": "mysql://kept" }');
    expect(() => read()).toThrow('DATABASE_URL=… is not a URL such as postgres://');
    await writeFile(file, 'half a fil');
    expect(() => read()).toThrow(`${file} cannot be read`);
    await rm(folder, { recursive: true });
  });
});

describe('a connection test', () => {
  const words = (key: string, values: object = {}): string => `${key} ${JSON.stringify(values)}`;
  const found = { version: '17.2', missing: [], writable: true, installed: false };

  test('explains why an address cannot be used, and times out', async () => {
    const fail = async (error: unknown): Promise<never> => {
      throw error;
    };
    const failing = (error: unknown) =>
      new ConnectionTests({ text: words, inspect: () => fail(error), redis: () => fail(error) });
    const problemOf = async (error: unknown) =>
      (await failing(error).database('postgres://sea.test:5433/boats')).text.split(' ')[0];
    expect(await problemOf(Object.assign(new Error('no'), { code: '28P01' }))).toBe('probe.credentials');
    expect(await problemOf(Object.assign(new Error('no'), { code: '3D000' }))).toBe('probe.database');
    expect(await problemOf(new AggregateError([Object.assign(new Error('no'), { code: 'ECONNREFUSED' })]))).toBe(
      'probe.refused',
    );
    expect(await problemOf(Object.assign(new Error('odd'), { code: '53300' }))).toBe('probe.other');
    expect((await failing(new Error('SSH-2.0-banner')).database('postgres://sea.test/boats')).text).not.toContain(
      'banner',
    );
    expect(await problemOf(new Error('odd'))).toBe('probe.strange');
    expect((await failing(new Error('odd')).database('postgres://sea.test/%ff')).text).toContain('probe.strange');
    expect((await failing(new Error('WRONGPASS invalid')).redis('redis://sea.test')).text).toContain(
      'probe.credentials',
    );
    const silent = new ConnectionTests({
      text: words,
      inspect: () => new Promise(() => undefined),
      redis: () => Promise.resolve(),
      timeout: 20,
    });
    expect(await silent.database('postgres://sea.test/boats')).toEqual({
      good: false,
      text: 'probe.silent {"host":"sea.test","name":"boats"}',
    });
  });

  test('checks the requirements for a database', async () => {
    const look = async (report: object) => {
      const probes = new ConnectionTests({
        text: words,
        inspect: async () => ({ ...found, ...report }),
        redis: async () => undefined,
      });
      return (await probes.database('postgres://sea/b')).text.split(' ')[0];
    };
    const reports = [{}, { installed: true }, { writable: false }, { missing: ['citext'] }, { version: '9.6.24' }];
    expect(await Promise.all(reports.map(look))).toEqual([
      'probe.postgres',
      'probe.installed',
      'probe.read-only',
      'probe.extensions',
      'probe.old',
    ]);
  });

  test(
    'has its own button, is never triggered by Enter, and keeps the input without its passwords',
    async () => {
      await using site = await openSite({ embedded: true });
      const { client, send } = await site.invited();
      await send('site', { site_name: 'The Quay' });
      const { text } = await client.get('/install/services');
      const buttons = [...text.matchAll(/<button([^>]*)>([^<]*)/g)].map(([, attributes = '', label]) => [
        label,
        attributes.includes('name='),
      ]);
      expect(buttons).toEqual([
        ['Continue', false],
        ['Test the database', true],
        ['Test Redis', true],
        ['Continue', false],
      ]);
      // A port that was free a moment ago.
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      server.close();
      const [database, redis] = [`postgres://ada:sesame@127.0.0.1:${port}/boats`, `redis://:sesame@127.0.0.1:${port}`];
      const tested = await send('services', {
        database: 'server',
        database_url: database,
        redis_url: redis,
        test: 'database',
      });
      expect(tested.text).toContain(`Nothing listens at 127.0.0.1:${port}. Is it running, and is the port right?`);
      expect(tested.text).toContain(`value="postgres://ada:*****@127.0.0.1:${port}/boats"`);
      expect(tested.text).not.toContain('sesame');
      const masked = (address: string): string => address.replace('sesame', '*****');
      const again = await send('services', {
        database: 'server',
        database_url: masked(database),
        redis_url: masked(redis),
        test: 'redis',
      });
      expect(again.text.match(/Nothing listens/g)).toHaveLength(1);
      const bad = { database_url: 'mysql://ada@127.0.0.1/boats', redis_url: '' };
      const refused = await send('services', { ...bad, database: 'server', smtp_url: 'mail.example.org' });
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('This is no address that begins with postgres://');
      expect(refused.text).toContain('is not an address such as smtps://');
      expect(
        (await send('services', { database: 'embedded', database_url: '', redis_url: '', smtp_url: '' })).status,
      ).toBe(303);
    },
    LONG,
  );

  test(
    'with an address but the embedded database selected asks which is meant, and keeps the address',
    async () => {
      await using site = await openSite({ embedded: true });
      const { client, send } = await site.invited();
      await send('site', { site_name: 'The Quay' });
      const typed = {
        database: 'embedded',
        database_url: 'postgres://ada:sesame@127.0.0.1:1/boats',
        redis_url: 'redis://:sesame@127.0.0.1:1',
      };
      const kept = ['value="postgres://ada:*****@127.0.0.1:1/boats"', 'value="redis://:*****@127.0.0.1:1"'];
      const asked = 'is typed, yet “Built in” is chosen. Choose “A PostgreSQL server”, or empty this field.';
      for (const test of ['database', undefined]) {
        const { status, text } = await send('services', { ...typed, ...(test !== undefined && { test }) });
        expect([test, status]).toEqual([test, 400]);
        expect(text).toContain(asked);
        for (const value of kept) expect(text).toContain(value);
        expect(text).toMatch(/value="embedded" checked/);
      }
      const redis = await send('services', { ...typed, test: 'redis' });
      expect([redis.status, redis.text.includes(asked)]).toEqual([200, false]);
      for (const value of kept) expect(redis.text).toContain(value);
      const chosen = await send('services', { ...typed, database: 'server', redis_url: '', test: 'database' });
      expect(chosen.text).toContain('Nothing listens at 127.0.0.1:1');
      // Later steps cannot be reached yet: the address was never accepted.
      expect((await client.get('/install/administrator')).headers.get('location')).toBe('/install/services');
      expect((await send('services', { ...typed, database_url: '', redis_url: '' })).status).toBe(303);
    },
    LONG,
  );
});
