import { createPublicKey, createVerify } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { sealedStores, Secrets, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { Notifications } from 'parley-forum/ports/notifications';
import { Deletions } from 'parley-forum/ports/personal-data';
import type { Client } from 'parley-forum/testing';
import { postWithPause } from '../../kit/paused.ts';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';
import { exported } from '../privacy/forum.ts';
import { usePushService, type PushBrowser } from './push-service.ts';

const forum = useForum({ 'site.name': 'The Slipway', 'login.rate_limit': 10_000 }, { pushHosts: ['127.0.0.1', '::1'] });
const service = usePushService();
const JSON_ONLY = { accept: 'application/json' };
const SEND = 'push/job:send';
const DAY = 86_400_000;

const accounts = (): Accounts => forum.app.app.service(Accounts);
const devicesOf = async (client: Client): Promise<readonly any[]> =>
  expectStatus(await client.get('/api/push/devices'), 200).body.devices;
const rows = (): Promise<readonly { id: string; failures: number; subscription: string }[]> =>
  forum.app.app.data.all(sql<{ id: string; failures: number; subscription: string }>`
    select id, failures, subscription from push_device order by id`);

/** Switches push on in a new browser of this client. */
async function turnOn(client: Client, browser = service.browser()): Promise<PushBrowser & { id: string }> {
  const { id } = expectStatus(await client.post('/api/push/devices', browser.subscription), 201).body;
  return Object.assign(browser, { id: String(id) });
}
/** A new browser in which this member is logged in. */
async function enter(name: Name, headers?: Readonly<Record<string, string>>): Promise<Client> {
  const client = forum.app.client(headers);
  await client.login(name, PASSWORD);
  return client;
}
/** Resolves when nothing is due to be sent. */
const settled = (): Promise<void> =>
  vi.waitFor(
    async () => {
      const due = await forum.app.app.data.all(
        sql`select 1 from job where (listener like 'push/%' or listener like 'notifications/%')
          and listener not like '%mail' and cron is null and failed_at is null and (run_at <= now() or owner is not null)`,
      );
      expect(due).toEqual([]);
    },
    { timeout: 20_000, interval: 20 },
  );
/** Sends what is waiting for another attempt. */
async function retry(): Promise<void> {
  await forum.app.app.data.all(sql`delete from job_pause where listener = ${SEND}`);
  await forum.app.app.data.all(sql`update job set run_at = now() where listener = ${SEND}`);
  await forum.app.app.jobs.retry(SEND);
  await settled();
}
let count = 0;
/** Notifies a member of something by bob, who mentioned them. */
async function mention(name: Name, more: object = {}): Promise<void> {
  const about = { title: 'Knots', url: '/d/1', key: `push-test:${++count}` };
  const mentioned = { type: 'mention', userId: forum.ids[name], actorId: forum.ids.bob, ...about, ...more };
  await forum.app.app.service(Notifications).notify([mentioned]);
  await settled();
}

beforeEach(async () => {
  await forum.app.app.data.all(sql`delete from push_device`);
  await forum.app.app.data.all(sql`delete from job where listener = ${SEND}`);
});

describe('a notification', () => {
  test('is pushed to every device of its member, encrypted for each', async () => {
    const [phone, desktop, others] = [
      await turnOn(forum.as.ada),
      await turnOn(forum.as.ada),
      await turnOn(forum.as.mia),
    ];
    const { id, number } = await forum.start('mia', 'Bowlines');
    await forum.reply('bob', id, 'Look at this, @ada and @mia');
    await vi.waitFor(() => expect(phone.requests).toHaveLength(1), { timeout: 20_000 });
    await settled();
    const message = {
      title: 'The Slipway',
      body: 'bob mentioned you in Bowlines',
      url: `/d/${number}/2#post-2`,
      lang: 'en',
    };
    expect([phone.messages, desktop.messages]).toEqual([
      [expect.objectContaining(message)],
      [expect.objectContaining(message)],
    ]);
    expect(others.messages.map(({ body }) => body)).toEqual(['bob mentioned you in Bowlines']);
    const [request] = phone.requests;
    expect(request!.headers).toMatchObject({ 'content-encoding': 'aes128gcm', ttl: '259200', urgency: 'normal' });
    expect(request!.body.toString('latin1')).not.toContain('Bowlines');
    expect((await devicesOf(forum.as.ada)).map(({ last_success_at }) => last_success_at)).toEqual([
      expect.any(String),
      expect.any(String),
    ]);
  });

  test('is signed with the key that browsers subscribe to', async () => {
    const browser = await turnOn(forum.as.ada);
    await mention('ada');
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(browser.requests[0]!.headers.authorization!)!;
    expect(key).toBe((await forum.as.ada.get('/api/push/devices')).body.public_key);
    const [head, claims, signature] = token.split('.') as [string, string, string];
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
    const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
    const verify = createVerify('sha256').update(`${head}.${claims}`);
    const given = Buffer.from(signature, 'base64url');
    expect(verify.verify({ key: publicKey, dsaEncoding: 'ieee-p1363' }, given)).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      aud: new URL(browser.subscription.endpoint).origin,
      sub: 'mailto:noreply@forum.test',
    });
  });

  test('is in the language of its member, and replaces the one that it is merged with', async () => {
    const browser = await turnOn(forum.as.ada);
    await accounts().setLocale(forum.ids.ada, { language: 'de' });
    for (const actorId of [forum.ids.bob, forum.ids.mia])
      await mention('ada', { type: 'reply', actorId, group: 'one' });
    await accounts().setLocale(forum.ids.ada, { language: null });
    const [first, second] = browser.messages;
    expect(first).toMatchObject({ lang: 'de', body: 'bob antwortet in Knots' });
    expect(second.body).toContain('mia und bob');
    expect(second.tag).toBe(first.tag);
    expect(new Set(browser.requests.map(({ headers }) => headers['topic'])).size).toBe(1);
  });

  test('is shortened if it does not fit into a message', async () => {
    const browser = await turnOn(forum.as.ada);
    await mention('ada', { title: '🛶'.repeat(2_000) });
    expect(Buffer.byteLength(JSON.stringify(browser.messages[0]))).toBeLessThanOrEqual(3_072);
    expect(browser.messages[0].body).toMatch(/^bob mentioned you in (🛶)+…$/u);
    expect(browser.requests[0]!.body.length).toBeLessThan(4_096);
  });
});

describe('nothing is pushed', () => {
  test('of a kind that the member switched off, or to nobody', async () => {
    const browser = await turnOn(forum.as.ada);
    await forum.as.ada.submit('/settings/notifications', { 'channels[mention]': 'off' });
    await mention('ada');
    await forum.as.ada.submit('/settings/notifications', { 'channels[mention]': 'site' });
    expect(browser.requests).toEqual([]);
    await mention('mia');
    expect(service.received).toEqual([]);
  });

  /** Makes the first attempt fail and then something happen; resolves to the number of requests. */
  async function requestsAfter(name: Name, happens: () => Promise<unknown>, more: object = {}): Promise<number> {
    await forum.app.app.data.all(sql`delete from push_device`);
    const browser = await turnOn(forum.as[name]);
    service.replies.push({ status: 503 });
    await mention(name, more);
    expect(browser.requests).toHaveLength(1);
    await happens();
    await retry();
    return browser.requests.length;
  }

  test('of what was read in the meantime', async () => {
    const read = () => forum.as.ada.post('/api/notifications/mark-read', {});
    expect(await requestsAfter('ada', read)).toBe(1);
    expect(await requestsAfter('ada', async () => undefined)).toBe(2);
  });

  test('of a category that the member may no longer see', async () => {
    const categories = forum.app.app.service(Categories);
    const open = await categories.save({ name: 'Docks' });
    const { id } = await forum.start('mia', 'Closing soon', open.id);
    const close = () => categories.save({ id: open.id, name: 'Docks', view: 'staff' });
    expect(await requestsAfter('ada', close, { discussionId: id })).toBe(1);
    await mention('ada', { discussionId: id });
    expect(service.received).toHaveLength(1);
  });

  test('to accounts that are disabled or banned, whose devices are removed', async () => {
    const disable = () => accounts().setStatus(forum.ids.ada, 'disabled');
    expect(await requestsAfter('ada', disable)).toBe(1);
    expect(await rows()).toEqual([]);
    await accounts().setStatus(forum.ids.ada, 'active');
    await forum.as.ada.login('ada', PASSWORD);
    const ban = () => accounts().setGroup(forum.ids.ada, 'banned');
    expect(await requestsAfter('ada', ban)).toBe(1);
    expect(await rows()).toEqual([]);
    await accounts().setGroup(forum.ids.ada, 'member');
    await forum.as.ada.login('ada', PASSWORD);
    // The banned member of this forum can log in, but is not told of anything.
    const browser = await turnOn(forum.as.bad);
    await mention('bad');
    expect(browser.requests).toEqual([]);
  });
});

describe('a push service', () => {
  test.each([404, 410])('that answers %i ends the subscription', async (status) => {
    await turnOn(forum.as.ada);
    service.replies.push({ status });
    await mention('ada');
    expect(await rows()).toEqual([]);
  });

  test.each([302, 400, 413])('that answers %i gets this message no more, but later ones', async (status) => {
    const browser = await turnOn(forum.as.ada);
    service.replies.push({ status, headers: { location: '/elsewhere' } });
    await mention('ada');
    await retry();
    expect(service.received).toHaveLength(1);
    await mention('ada');
    expect(browser.requests).toHaveLength(2);
    expect(await rows()).toMatchObject([{ failures: 0 }]);
  });

  test('that is busy is asked again later, and never sooner than it says', async () => {
    const browser = await turnOn(forum.as.ada);
    service.replies.push({ status: 429, headers: { 'retry-after': '900' } }, { status: 500 });
    await mention('ada');
    const [wait] = await forum.app.app.data.all(
      sql<{
        seconds: number;
      }>`select extract(epoch from run_at - now())::float as seconds from job where listener = ${SEND}`,
    );
    expect(wait!.seconds).toBeGreaterThan(880);
    await retry();
    expect(await rows()).toMatchObject([{ failures: 2 }]);
    await retry();
    expect(browser.messages).toHaveLength(3);
    expect(await rows()).toMatchObject([{ failures: 0 }]);
  });

  test('that fails gets nothing else for the same device until then', async () => {
    const browser = await turnOn(forum.as.ada);
    service.replies.push({ status: 503 });
    await mention('ada');
    const other = await turnOn(forum.as.ada);
    const about = { type: 'mention', userId: forum.ids.ada, actorId: forum.ids.bob, url: '/d/2', key: 'bends' };
    await forum.app.app.service(Notifications).notify([{ ...about, title: 'Bends' }]);
    await vi.waitFor(() => expect(other.messages).toHaveLength(1), { timeout: 20_000 });
    expect(browser.requests).toHaveLength(1);
    await retry();
    expect(browser.messages).toHaveLength(3);
    expect(new Set(browser.messages.map(({ body }) => body))).toEqual(
      new Set(['bob mentioned you in Knots', 'bob mentioned you in Bends']),
    );
    expect(await forum.app.app.data.all(sql`select 1 from job_pause where listener = ${SEND}`)).toEqual([]);
  });

  test('that fails for a day loses the device after many messages, and after 60 days without a success', async () => {
    await turnOn(forum.as.ada);
    await turnOn(forum.as.bob);
    service.replies.push(...Array.from({ length: 20 }, () => ({ status: 400 })));
    for (let at = 0; at < 20; at++) {
      if (at === 19) forum.app.clock.advance(DAY);
      expect(await rows()).toHaveLength(2);
      await mention('ada');
    }
    expect(await rows()).toHaveLength(1);
    forum.app.clock.advance(58 * DAY);
    await forum.app.runSchedule('push/job:clean');
    expect(await rows()).toHaveLength(1);
    forum.app.clock.advance(2 * DAY);
    await forum.app.runSchedule('push/job:clean');
    expect(await rows()).toEqual([]);
    for (const name of ['ada', 'bob', 'mia', 'root', 'bad'] as const) await forum.as[name].login(name, PASSWORD);
  });

  test('inside the network is never called, even if it was allowed when the device was added', async () => {
    const { data, service: serviceOf } = forum.app.app;
    const { id, subscription } = await turnOn(forum.as.ada);
    const sealed = serviceOf(Secrets).seal(JSON.stringify({ ...subscription, endpoint: 'https://10.0.0.1/send/1' }));
    await data.all(sql`update push_device set subscription = ${sealed} where id = ${id}`);
    await mention('ada');
    expect(await rows()).toEqual([]);
  });
});

describe('a device', () => {
  test('is listed for its member alone, without its secrets', async () => {
    const client = await enter('ada', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0' });
    const browser = await turnOn(client);
    expect(await devicesOf(client)).toEqual([
      {
        id: browser.id,
        device: 'Firefox on Linux',
        created_at: expect.any(String),
        last_success_at: null,
        current: true,
      },
    ]);
    expect(await devicesOf(forum.as.ada)).toMatchObject([{ id: browser.id, current: false }]);
    expect(await devicesOf(forum.as.bob)).toEqual([]);
    expect((await forum.as.bob.delete(`/api/push/devices/${browser.id}`)).status).toBe(404);
    expect((await forum.as.bob.post('/settings/notifications/devices/remove', { id: browser.id })).status).toBe(404);
    const stored = JSON.stringify(await rows());
    expect(stored).not.toContain(browser.subscription.endpoint);
    expect(stored).not.toContain(browser.subscription.keys.auth);
    await mention('ada');
    expect(JSON.stringify(forum.app.lines)).not.toContain(new URL(browser.subscription.endpoint).pathname);
    expectStatus(await client.delete(`/api/push/devices/${browser.id}`), 200);
    expect(await devicesOf(client)).toEqual([]);
  });

  test('is removed on the settings page without JavaScript', async () => {
    const client = await enter('ada', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0' });
    expect((await client.get('/settings/notifications')).text).not.toContain('Your devices');
    const { id } = await turnOn(client);
    const page = (await client.get('/settings/notifications')).text;
    expect(page).toMatch(/Your devices[^]*Firefox on Linux[^]*nothing sent yet/);
    expect(page).toContain('<noscript><p class="meta">To turn push on or off');
    expect(page).toContain(`name="id" value="${id}"`);
    expect((await client.submit('/settings/notifications/devices/remove', { id })).headers.get('location')).toBe(
      '/settings/notifications',
    );
    expect((await client.get('/settings/notifications')).text).toContain('no longer receives notifications');
    expect(await rows()).toEqual([]);
  });

  test('is refused for guests, without https, inside the network except where it is allowed, and with broken keys', async () => {
    const { endpoint, keys } = service.browser().subscription;
    const refused = async (body: object): Promise<unknown> => {
      const answer = await forum.as.ada.post('/api/push/devices', body);
      return [answer.status, answer.body.details?.[0]?.field ?? answer.body];
    };
    expect((await forum.guest.post('/api/push/devices', { endpoint, keys })).status).toBe(401);
    expect((await forum.guest.get('/api/push/devices')).status).toBe(401);
    for (const bad of ['http://push.example.org/1', 'https://10.0.0.1/1', 'https://[::2]/1', 'https://local/1', 'no'])
      expect(await refused({ endpoint: bad, keys })).toEqual([400, 'endpoint']);
    expect(await refused({ endpoint, keys: { ...keys, p256dh: 'A'.repeat(87) } })).toEqual([400, 'keys.p256dh']);
    expect(await refused({ endpoint, keys: { ...keys, auth: 'short' } })).toEqual([400, 'keys.auth']);
    expect(await rows()).toEqual([]);
    expectStatus(await forum.as.ada.post('/api/push/devices', { endpoint: 'http://[::1]:9/1', keys }), 201);
  });

  test('belongs to the member who switched it on last', async () => {
    const browser = await turnOn(forum.as.ada);
    const again = await turnOn(forum.as.ada, browser);
    expect([again.id, await rows()]).toEqual([browser.id, [expect.anything()]]);
    const taken = await turnOn(forum.as.bob, browser);
    expect(await devicesOf(forum.as.ada)).toEqual([]);
    expect(await devicesOf(forum.as.bob)).toMatchObject([{ id: taken.id, last_success_at: null }]);
    await mention('ada');
    expect(browser.requests).toEqual([]);
  });

  test('replaces the one that was unused for longest if there are more than ten', async () => {
    const first = await turnOn(forum.as.ada);
    for (let at = 0; at < 10; at++) {
      forum.app.clock.advance(1_000);
      await turnOn(forum.as.ada);
    }
    const ids = (await devicesOf(forum.as.ada)).map(({ id }) => id);
    expect([ids.length, ids.includes(first.id)]).toEqual([10, false]);
  });
});

describe('pushing ends', () => {
  test('with a logout in the same browser, even after the session ended', async () => {
    const [client, other] = [await enter('ada'), await enter('ada')];
    await turnOn(client);
    const kept = await turnOn(other);
    await client.submit('/logout');
    expect(await rows()).toMatchObject([{ id: kept.id }]);
    expect([...client.cookies.keys()]).not.toContain('parley.push');
    forum.app.clock.advance(DAY);
    await other.get('/');
    expect(await rows()).toHaveLength(1);
    await other.submit('/logout');
    expect(await rows()).toEqual([]);
    for (const name of ['ada', 'bob', 'mia', 'root', 'bad'] as const) await forum.as[name].login(name, PASSWORD);
  });

  test('with a logout on every device that was added in the session', async () => {
    const client = await enter('ada');
    for (let at = 0; at < 2; at++) await turnOn(client);
    const kept = await turnOn(forum.as.ada);
    await client.submit('/logout');
    expect(await rows()).toMatchObject([{ id: kept.id }]);
  });

  test('with the token of the program that added the device', async () => {
    const client = await enter('ada');
    const newToken = async (): Promise<string> =>
      expectStatus(await client.post('/settings/security/api-token', {}, JSON_ONLY), 200).body.token;
    const kept = await turnOn(client);
    await turnOn(forum.app.client({ authorization: `Bearer ${await newToken()}` }));
    expect(await rows()).toHaveLength(2);
    const program = forum.app.client({ authorization: `Bearer ${await newToken()}` });
    expect(await rows()).toMatchObject([{ id: kept.id }]);
    await turnOn(program);
    expectStatus(await client.post('/settings/security/api-token/revoke', {}, JSON_ONLY), 200);
    expect(await rows()).toMatchObject([{ id: kept.id }]);
  });

  test('for the other sessions with a new password, even if tokens are kept', async () => {
    const client = await enter('ada');
    const { token } = expectStatus(await client.post('/settings/security/api-token', {}, JSON_ONLY), 200).body;
    await turnOn(await enter('ada'));
    const own = await turnOn(client);
    const program = await turnOn(forum.app.client({ authorization: `Bearer ${token}` }));
    const passwords = { current_password: PASSWORD, password: PASSWORD, password_confirmation: PASSWORD };
    const change = { ...passwords, keep_tokens: true };
    expectStatus(await client.post('/settings/security/password', change, JSON_ONLY), 200);
    expect((await rows()).map(({ id }) => id)).toEqual([own.id, program.id]);
    await forum.as.ada.login('ada', PASSWORD);
  });

  test('also on a device whose request is still being sent', async () => {
    const client = await enter('ada');
    const body = JSON.stringify(service.browser().subscription);
    const headers = { 'x-csrf-token': await client.csrf(), 'content-type': 'application/json' };
    const status = await postWithPause(client, `${forum.app.url}/api/push/devices`, { body, headers }, () =>
      accounts().endSessions(forum.ids.ada),
    );
    expect(status).toBe(401);
    expect(await rows()).toEqual([]);
    await forum.as.ada.login('ada', PASSWORD);
  });

  test('when another member logs in in the same browser, but not when the same one does', async () => {
    const client = await enter('ada');
    const { id } = await turnOn(client);
    await client.login('ada', PASSWORD);
    expect(await rows()).toMatchObject([{ id }]);
    await client.login('bob', PASSWORD);
    expect(await rows()).toEqual([]);
  });

  test('with the session of the browser, also one that began later', async () => {
    const [here, there] = [await enter('ada'), await enter('ada')];
    const kept = await turnOn(here);
    await turnOn(there);
    await there.login('ada', PASSWORD);
    await here.post('/login/confirm', { password: PASSWORD }, JSON_ONLY);
    const { sessions } = (await there.get('/settings/security/sessions', JSON_ONLY)).body;
    const { id } = sessions.find(({ current }: { current: boolean }) => current);
    expectStatus(await here.post('/settings/security/sessions/revoke', { id }, JSON_ONLY), 200);
    expect(await rows()).toMatchObject([{ id: kept.id }]);
    await turnOn(await enter('ada'));
    expectStatus(await here.post('/settings/security/sessions/revoke-others', {}, JSON_ONLY), 200);
    expect(await rows()).toMatchObject([{ id: kept.id }]);
    await forum.as.ada.login('ada', PASSWORD);
  });

  test('on all devices when all sessions end, and when the password is reset', async () => {
    for (const end of [
      () => accounts().endSessions(forum.ids.ada),
      () => accounts().resetPassword(forum.ids.ada, PASSWORD),
      () => accounts().setPassword(forum.ids.ada, PASSWORD),
    ]) {
      await forum.as.ada.login('ada', PASSWORD);
      await turnOn(forum.as.ada);
      await turnOn(forum.as.ada);
      await end();
      expect(await rows()).toEqual([]);
    }
    await forum.as.ada.login('ada', PASSWORD);
  });
});

test('devices are part of the personal data, without what is needed to send to them', async () => {
  const browser = await turnOn(forum.as.ada);
  const files = await exported(forum.app, forum.as.ada);
  expect(JSON.parse(files.get('push-devices.json')!)).toEqual([
    { device: expect.any(String), created_at: expect.any(String), last_success_at: null },
  ]);
  expect([...files.values()].join()).not.toContain(browser.subscription.endpoint);
  const leaver = { username: 'leaver', email: 'leaver@forum.test', password: PASSWORD };
  const { id } = await accounts().create(leaver);
  const client = forum.app.client();
  await client.login('leaver', PASSWORD);
  await turnOn(client);
  await forum.app.app.service(Deletions).erase(id, 'anonymise');
  expect(await rows()).toMatchObject([{ id: browser.id }]);
});

test('the keys of the forum and of devices are sealed, and sealed again with a new root key', async () => {
  const browser = await turnOn(forum.as.ada);
  const { app } = forum.app;
  const secrets = app.service(Secrets);
  const keyOf = async () => (await app.data.one(sql<{ sealed: string }>`select private_key as sealed from push_key`))!;
  const before = [(await keyOf()).sealed, (await rows())[0]!.subscription];
  const stores = app.extensions.read(sealedStores).filter(({ plugin }) => plugin === 'push');
  for (const { value } of stores)
    await app.data.transaction(() => value.reseal((sealed) => secrets.seal(secrets.open(sealed))));
  const after = [(await keyOf()).sealed, (await rows())[0]!.subscription];
  expect(
    after.map((sealed, at) => sealed !== before[at] && secrets.open(sealed) === secrets.open(before[at]!)),
  ).toEqual([true, true]);
  await mention('ada');
  expect(browser.messages).toHaveLength(1);
});

describe('the service worker', () => {
  test('is checked for a new version on each visit, and may load nothing but its own code', async () => {
    const { status, headers, text } = await forum.guest.get('/push-worker.js');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/javascript');
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await forum.guest.get('/push-worker.js', { 'if-none-match': headers.get('etag')! })).status).toBe(304);
    expect(text).toContain('You are offline');
    const module = /importScripts\("([^"]+)"\)/.exec(text)![1]!;
    expect(await forum.guest.get(module)).toMatchObject({ status: 200 });
    expect((await forum.guest.get(module)).text).not.toMatch(/\bexport\b/);
    expect((await forum.guest.get('/push-worker.js/more')).status).toBe(404);
  });

  test('is gone while the plugin is off, and so is the panel', async () => {
    await forum.app.app.plugins.disable('push');
    expect((await forum.guest.request('HEAD', '/push-worker.js')).status).toBe(404);
    expect((await forum.as.ada.get('/settings/notifications')).text).not.toContain('x-push');
    await forum.app.app.plugins.enable('push');
    expect((await forum.as.ada.get('/settings/notifications')).text).toContain('x-push');
  });
});
