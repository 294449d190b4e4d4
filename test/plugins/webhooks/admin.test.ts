import { describe, expect, test } from 'vitest';
import { defineAction, definePlugin, sealedStores, Secrets, sql, Type, type PluginHandle } from 'parley-forum';
import { Categories } from 'parley-forum/plugins/discussions';
import { bodySignature, keyOf, standardSignature } from '../../../plugins/webhooks/signatures.ts';
import { install } from '../discussions/forum.ts';
import { JSON_ONLY, settled, until, useWebhooks } from './forum.ts';
import { verify, type Received } from './receiver.ts';

const forum = useWebhooks({ 'webhooks.retry_delays': [600] });
const WHERE = ['', '/history', '/stats'];
const POSTS = ['save', 'test', 'redeliver', 'delete', 'rotate-secret'];

/** Signed with exactly these secrets, in this order, in both schemes. */
function expectSigned({ text, headers }: Received, secrets: readonly string[]): void {
  const [id, timestamp] = [headers['webhook-id']!, headers['webhook-timestamp']!];
  const keys = secrets.map((secret) => keyOf(secret));
  expect(headers['x-forum-signature']!.split(',')).toEqual(keys.map((key) => bodySignature(key, text)));
  expect(headers['webhook-signature']!.split(' ')).toEqual(
    keys.map((key) => standardSignature(key, { id, timestamp }, text)),
  );
}

describe('the webhook pages', () => {
  test.each(WHERE)('/admin/webhooks%s is for administrators only, as a page and as JSON', async (path) => {
    for (const [client, status] of [
      [forum.guest, 401],
      [forum.ada, 403],
      [forum.mia, 403],
      [forum.root, 200],
    ] as const) {
      expect((await client.get(`/admin/webhooks${path}`, JSON_ONLY)).status).toBe(status);
    }
    const page = await forum.root.get(`/admin/webhooks${path}`, { accept: 'text/html' });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    expect((await forum.guest.get(`/admin/webhooks${path}`, { accept: 'text/html' })).headers.get('location')).toMatch(
      /^\/login/,
    );
  });

  test.each(POSTS)('POST /admin/webhooks/%s requires an administrator and a CSRF token', async (what) => {
    const url = `/admin/webhooks/${what}`;
    expect((await forum.guest.post(url, {}, JSON_ONLY)).status).toBe(401);
    await forum.guest.csrf();
    expect((await forum.guest.post(url, {}, JSON_ONLY)).status).toBe(401);
    expect((await forum.mia.post(url, { id: 'x' }, JSON_ONLY)).status).toBe(403);
    expect((await forum.root.post(url, { id: 'x' }, { ...JSON_ONLY, 'x-csrf-token': 'wrong' })).body.code).toBe(
      'csrf_failed',
    );
  });
});

describe('saving a webhook', () => {
  test('creates one and shows its secret once; the database stores it encrypted', async () => {
    const receiver = await forum.receiver();
    const body = await forum.save({
      name: 'First',
      url: receiver.url,
      events: ['post.created', 'discussion.created'],
      active: true,
    });
    expect(body).toEqual({
      success: true,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      webhook: {
        id: expect.any(String),
        name: 'First',
        url: receiver.url,
        events: ['post.created', 'discussion.created'],
        active: true,
        categories: [],
        last_status: null,
        last_delivery_at: null,
      },
    });
    const list = (await forum.root.get('/admin/webhooks', JSON_ONLY)).body;
    expect(list).toMatchObject({ success: true, count: list.webhooks.length, hasMore: false });
    expect(list.webhooks).toContainEqual(body.webhook);
    await forum.save({ name: 'Second', url: receiver.url, events: ['post.created'] });
    const one = (await forum.root.get('/admin/webhooks?limit=1', JSON_ONLY)).body;
    expect(one).toMatchObject({ webhooks: [list.webhooks[0]], count: 1, hasMore: true });
    expect((await forum.root.get('/admin/webhooks?offset=-1', JSON_ONLY)).status).toBe(400);
    expect(JSON.stringify(list)).not.toContain('whsec_');
    const rows = await forum.app.app.data.all(sql`select * from webhook`);
    expect(JSON.stringify(rows)).not.toContain(body.secret.slice(6, 40));
    expect(JSON.stringify(forum.app.lines)).not.toContain(body.secret.slice(6, 40));
  });

  test('accepts a single event as a string, and forms; omitted fields are unchanged', async () => {
    const { webhook } = await forum.save({
      name: 'By a word',
      url: 'https://203.0.114.7/hook',
      event: 'user.registered',
      active: false,
    });
    expect(webhook).toMatchObject({ events: ['user.registered'], active: false });
    expect(await forum.do('save', { id: webhook.id, name: 'Renamed' })).toEqual({
      success: true,
      webhook: { ...webhook, name: 'Renamed' },
    });
    const answer = await forum.root.submit('/admin/webhooks/save', {
      id: webhook.id,
      name: 'By a form',
      url: webhook.url,
      'events[]': 'post.created',
      active: 'false',
      'categories[]': '',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/admin/webhooks?id=${webhook.id}`]);
    const { webhooks } = (await forum.root.get('/admin/webhooks', JSON_ONLY)).body;
    expect(webhooks.find(({ id }: any) => id === webhook.id)).toEqual({
      ...webhook,
      name: 'By a form',
      events: ['post.created'],
    });
  });

  test('keeps a deleted category instead of widening it to all categories', async () => {
    const categories = forum.app.app.service(Categories);
    const { id } = await categories.save({ name: 'Passing' });
    const { webhook } = await forum.save({ url: 'https://203.0.114.7/hook', event: 'post.created', categories: [id] });
    await categories.remove(id);
    const { text } = await forum.root.get(`/admin/webhooks?id=${webhook.id}`, { accept: 'text/html' });
    expect(text).toMatch(
      new RegExp(`value="${id}" checked><span><span class="choice-label" dir="auto">A category that is gone<`),
    );
    const form = { id: webhook.id, url: webhook.url, 'events[]': 'post.created', active: 'true' };
    const save = async (name: string, chosen: string): Promise<void> => {
      const answer = await forum.root.submit('/admin/webhooks/save', { ...form, name, 'categories[]': chosen });
      expect(answer.status).toBe(303);
    };
    const saved = async () =>
      (await forum.root.get('/admin/webhooks', JSON_ONLY)).body.webhooks.find((one: any) => one.id === webhook.id);
    await save('Renamed', id);
    expect(await saved()).toMatchObject({ name: 'Renamed', categories: [id] });
    const other = { url: webhook.url, event: 'post.created', categories: [id] };
    expect((await forum.root.post('/admin/webhooks/save', other, JSON_ONLY)).status).toBe(400);
    await save('Of all', '');
    expect(await saved()).toMatchObject({ name: 'Of all', categories: [] });
  });

  test.each<[string, object, string]>([
    ['a missing URL', { name: 'x', events: ['post.created'] }, 'url'],
    ['missing events', { name: 'x', url: 'https://203.0.114.7/' }, 'events'],
    ['an empty list of events', { name: 'x', url: 'https://203.0.114.7/', events: [] }, 'events'],
    ['an unknown event', { name: 'x', url: 'https://203.0.114.7/', events: ['no.such'] }, 'events'],
    ['an internal event', { name: 'x', url: 'https://203.0.114.7/', events: ['plugin.changed'] }, 'events'],
    [
      'an unknown category',
      { name: 'x', url: 'https://203.0.114.7/', events: ['post.created'], categories: ['nowhere'] },
      'categories',
    ],
    ['an invalid URL', { name: 'x', url: 'hook', events: ['post.created'] }, 'url'],
    ['a private address', { name: 'x', url: 'http://10.0.0.1/', events: ['post.created'] }, 'url'],
    ['the cloud metadata address', { name: 'x', url: 'http://169.254.169.254/', events: ['post.created'] }, 'url'],
    ['localhost by name', { name: 'x', url: 'http://localhost/', events: ['post.created'] }, 'url'],
    ['a disallowed port', { name: 'x', url: 'https://203.0.114.7:25/', events: ['post.created'] }, 'url'],
    ['a password in the URL', { name: 'x', url: 'https://a:b@203.0.114.7/', events: ['post.created'] }, 'url'],
    ['another URL scheme', { name: 'x', url: 'file:///etc/passwd', events: ['post.created'] }, 'url'],
  ])('refuses %s, naming the field', async (_what, body, field) => {
    const answer = await forum.root.post('/admin/webhooks/save', body, JSON_ONLY);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, field]);
  });

  test('preserves the form on errors', async () => {
    const answer = await forum.root.submit('/admin/webhooks/save', {
      id: '',
      name: 'Typed name',
      url: 'http://10.0.0.1/secret-path',
      'events[]': 'post.updated',
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/value="Typed name"/);
    expect(answer.text).toContain('http://10.0.0.1/secret-path');
    expect(answer.text).toMatch(/value="post.updated" checked/);
    expect(answer.text).toContain('is not on the public internet');
  });

  test('shows the secret once after a form submission', async () => {
    const receiver = await forum.receiver();
    const answer = await forum.root.submit('/admin/webhooks/save', {
      id: '',
      name: 'From a page',
      url: receiver.url,
      'events[]': 'post.created',
      active: 'true',
    });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    expect(answer.text).toMatch(/whsec_/);
  });

  test.each(['test', 'delete', 'rotate-secret'])('responds 404 for an unknown one: %s', async (what) => {
    for (const id of ['xyz', '01990000-0000-7000-8000-000000000000'])
      expect((await forum.root.post(`/admin/webhooks/${what}`, { id }, JSON_ONLY)).status).toBe(404);
    expect((await forum.root.post('/admin/webhooks/save', { id: 'xyz', name: 'x' }, JSON_ONLY)).status).toBe(404);
  });

  test('offers events of plugins enabled later', async () => {
    const spoken = defineAction<{ word: string; secret: string }>('parrot.spoken', {
      public: Type.Object({ word: Type.String() }),
    });
    let parrot: PluginHandle;
    const receiver = await forum.receiver();
    expect(
      (
        await forum.root.post(
          '/admin/webhooks/save',
          { name: 'x', url: receiver.url, events: ['parrot.spoken'] },
          JSON_ONLY,
        )
      ).status,
    ).toBe(400);
    await install(
      forum.app,
      definePlugin({ id: 'parrot', hooks: [spoken], setup: (_services, plugin) => void (parrot = plugin) }),
    );
    await forum.add(receiver.url, { events: ['parrot.spoken'] });
    await parrot!.emit(spoken, { word: 'Polly', secret: 'cracker' });
    await until(() => expect(receiver.received.map(({ body }) => body.data)).toEqual([{ word: 'Polly' }]));
    await forum.app.app.kernel.disable('parrot');
  });
});

describe('actions of administrators', () => {
  test('send a test immediately, even if the webhook is off, and show the result', async () => {
    const receiver = await forum.receiver({ status: 200, body: 'thanks' });
    const webhook = await forum.add(receiver.url, { active: false });
    const { delivery, success } = await forum.do('test', { id: webhook.id });
    expect([success, delivery]).toMatchObject([
      true,
      {
        webhook_id: webhook.id,
        event: 'webhook.test',
        status: 'delivered',
        attempt: 1,
        attempts: 1,
        response_status: 200,
      },
    ]);
    const [request] = receiver.received;
    expect(verify(webhook.secret, request!)).toEqual({
      id: delivery.event_id,
      event: 'webhook.test',
      timestamp: expect.any(String),
      data: { webhook: { id: webhook.id, name: 'A service' } },
    });
    receiver.reply = { status: 500 };
    expect((await forum.do('test', { id: webhook.id })).delivery).toMatchObject({
      status: 'failed',
      error: 'Responded with 500',
    });
    const page = await forum.root.submit('/admin/webhooks/test', { id: webhook.id });
    expect([page.status, page.headers.get('location')]).toEqual([
      303,
      expect.stringMatching(/^\/admin\/webhooks\/history\?delivery_id=/),
    ]);
    expect((await forum.root.get(page.headers.get('location')!)).text).toContain('Responded with 500');
    const { webhooks } = (await forum.root.get('/admin/webhooks', JSON_ONLY)).body;
    expect(webhooks.find(({ id }: any) => id === webhook.id)).toMatchObject({
      last_status: 'failed',
      last_delivery_at: expect.stringMatching(/Z$/),
    });
  });

  test('rotate the secret; the old one also signs for 24 hours', async () => {
    const receiver = await forum.receiver();
    const { id, secret: old } = await forum.add(receiver.url);
    const { secret, success } = await forum.do('rotate-secret', { id });
    expect([success, secret === old]).toEqual([true, false]);
    await forum.do('test', { id });
    for (const one of [old, secret]) verify(one, receiver.received[0]!);
    expectSigned(receiver.received[0]!, [secret, old]);
    await forum.later(24 * 3_600_000 + 1_000);
    await forum.do('test', { id });
    const { headers } = receiver.received[1]!;
    expect([headers['webhook-signature']!.split(' ').length, headers['x-forum-signature']!.split(',').length]).toEqual([
      1, 1,
    ]);
  });

  test('rotate the secret repeatedly; each one signs until 24 hours after its replacement', async () => {
    const receiver = await forum.receiver();
    const { id, secret: first } = await forum.add(receiver.url);
    const { secret: second } = await forum.do('rotate-secret', { id });
    await forum.later(12 * 3_600_000);
    const { secret: third } = await forum.do('rotate-secret', { id });
    await forum.do('test', { id });
    expectSigned(receiver.received[0]!, [third, second, first]);
    await forum.later(12 * 3_600_000 + 1_000);
    await forum.do('test', { id });
    expectSigned(receiver.received[1]!, [third, second]);
    // Stored events are signed in the same way.
    await forum.start('Signed by both');
    await until(() => expect(receiver.received).toHaveLength(3));
    expectSigned(receiver.received[2]!, [third, second]);
  });

  test('rotate the secret up to four times within 24 hours; a fifth is refused with the time when it is possible', async () => {
    const receiver = await forum.receiver();
    const { id, secret: first } = await forum.add(receiver.url);
    const secrets = [first];
    for (let round = 0; round < 4; round++) secrets.unshift((await forum.do('rotate-secret', { id })).secret);
    const refused = await forum.root.post('/admin/webhooks/rotate-secret', { id }, JSON_ONLY);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect(refused.body.error).toMatch(/when the oldest expires, at \d{4}-\d\d-\d\dT/);
    await forum.do('test', { id });
    expectSigned(receiver.received[0]!, secrets);
    await forum.later(24 * 3_600_000 + 1_000);
    expect((await forum.do('rotate-secret', { id })).success).toBe(true);
  });

  test('reseal current and replaced secrets with a new root key', async () => {
    const receiver = await forum.receiver();
    const { id, secret: old } = await forum.add(receiver.url);
    const { secret } = await forum.do('rotate-secret', { id });
    const secrets = forum.app.app.service(Secrets);
    const stores = forum.app.app.extensions.read(sealedStores);
    await forum.app.app.data.transaction(async () => {
      for (const { value } of stores) await value.reseal((sealed) => secrets.seal(secrets.open(sealed)));
    });
    await forum.do('test', { id });
    expect(receiver.received).toHaveLength(1);
    expectSigned(receiver.received[0]!, [secret, old]);
  });

  test('redeliver failed deliveries: one, or all in a period', async () => {
    const receiver = await forum.receiver({ status: 500 });
    const { id } = await forum.add(receiver.url);
    const from = new Date(forum.app.clock.now()).toISOString();
    for (const title of ['One', 'Two', 'Three']) await forum.start(title);
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=retrying`)).toHaveLength(3));
    receiver.reply = { status: 200 };
    const [three] = await forum.history(`webhook_id=${id}`);
    expect(await forum.do('redeliver', { delivery_id: three!.id })).toEqual({ success: true, count: 1 });
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=delivered`)).toHaveLength(1));
    expect(receiver.received.at(-1)!.headers['webhook-id']).toBe(three!.event_id);
    await settled(forum.app);
    expect(
      await forum.do('redeliver', { webhook_id: id, from, to: new Date(forum.app.clock.now() + 60_000).toISOString() }),
    ).toEqual({ success: true, count: 2 });
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=delivered`)).toHaveLength(3));
    await settled(forum.app);
    expect((await forum.do('redeliver', { webhook_id: id, from })).count).toBe(0);
    expect((await forum.do('redeliver', { delivery_id: three!.id })).count).toBe(1);
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=delivered`)).toHaveLength(4));
    await forum.do('save', { id, active: false });
    await forum.do('redeliver', { delivery_id: three!.id }, 409);
    await forum.do('redeliver', { delivery_id: 'xyz' }, 404);
    await forum.do('redeliver', {}, 400);
    await forum.do('redeliver', { from: 'yesterday' }, 400);
    const form = await forum.root.submit('/admin/webhooks/redeliver', {
      webhook_id: '',
      from: '2026-01-01T00:00',
      to: '2026-01-02T00:00',
    });
    expect(form.status).toBe(303);
    const { text } = await forum.root.get(form.headers.get('location')!);
    expect(text).toMatch(/class="notice info"[^]*?Nothing to resend/);
  });

  test('delete a webhook with its history; pending deliveries are not sent', async () => {
    const receiver = await forum.receiver({ status: 500 });
    const { id } = await forum.add(receiver.url);
    await forum.start('Soon gone');
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=retrying`)).toHaveLength(1));
    expect(await forum.do('delete', { id })).toEqual({ success: true });
    expect(await forum.history(`webhook_id=${id}`)).toEqual([]);
    expect((await forum.root.get('/admin/webhooks', JSON_ONLY)).text).not.toContain(id);
    await forum.do('delete', { id }, 404);
    await forum.start('After it');
    await settled(forum.app);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('the delivery history', () => {
  test('supports filters, and pages by cursor and offset', async () => {
    const receiver = await forum.receiver((_request, count) => ({ status: count % 2 ? 200 : 404 }));
    const { id } = await forum.add(receiver.url, { events: ['discussion.created', 'post.created'] });
    const { id: discussion } = await forum.start('Numbers');
    for (let n = 1; n < 6; n++) await forum.reply(discussion, `number ${n}`);
    await until(async () =>
      expect((await forum.history(`webhook_id=${id}`)).filter(({ status }) => status !== 'pending')).toHaveLength(6),
    );
    const all = await forum.history(`webhook_id=${id}`);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['delivered', 'retrying']));
    expect((await forum.history(`webhook_id=${id}&event=discussion.created`)).map(({ event }) => event)).toEqual([
      'discussion.created',
    ]);
    const seen: string[] = [];
    for (let query = 'limit=4'; query !== '';) {
      const page = (await forum.root.get(`/admin/webhooks/history?webhook_id=${id}&${query}`, JSON_ONLY)).body;
      expect([page.success, page.count, page.hasMore]).toEqual([
        true,
        page.deliveries.length,
        page.next_cursor !== null,
      ]);
      seen.push(...page.deliveries.map((delivery: any) => delivery.id));
      query = page.next_cursor === null ? '' : `limit=4&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(all.map((delivery) => delivery.id));
    const second = (await forum.root.get(`/admin/webhooks/history?webhook_id=${id}&limit=2&offset=4`, JSON_ONLY)).body;
    expect([second.deliveries.map((delivery: any) => delivery.id), second.hasMore]).toEqual([seen.slice(4), false]);
    expect((await forum.root.get(`/admin/webhooks/history?webhook_id=${id}&status=&event=`)).text).toContain(
      'post.created',
    );
    await forum.do('delete', { id });
  });

  test.each(['status=gone', 'limit=0', 'offset=-1', 'cursor=x', 'limit=x'])('refuses %s', async (query) => {
    expect((await forum.root.get(`/admin/webhooks/history?${query}`, JSON_ONLY)).status).toBe(400);
  });

  test('is empty for an unknown webhook, and 404 for an unknown delivery', async () => {
    expect(await forum.history('webhook_id=xyz')).toEqual([]);
    for (const id of ['xyz', '01990000-0000-7000-8000-000000000000'])
      expect((await forum.root.get(`/admin/webhooks/history?delivery_id=${id}`, JSON_ONLY)).status).toBe(404);
  });

  test('runs the same number of statements for any amount of data, as do the statistics', async () => {
    const receiver = await forum.receiver();
    const { id } = await forum.add(receiver.url);
    // The minimum of three, as the server also runs background work.
    const asked = async (path: string): Promise<number> => {
      await settled(forum.app);
      const counts: number[] = [];
      for (let n = 0; n < 3; n++)
        counts.push(
          await forum.app.statements(() => forum.root.get(`/admin/webhooks${path}`, { accept: 'text/html' })),
        );
      return Math.min(...counts);
    };
    const paths = ['', `?id=${id}`, `/history?webhook_id=${id}&limit=50`, '/stats'];
    const before: number[] = [];
    for (const path of paths) before.push(await asked(path));
    for (let n = 0; n < 10; n++) await forum.start(`More ${n}`);
    for (let n = 0; n < 3; n++) await forum.add(receiver.url, { active: false });
    const after: number[] = [];
    for (const path of paths) after.push(await asked(path));
    expect(after).toEqual(before);
    await forum.do('delete', { id });
  });

  test('is deleted after the configured number of days', async () => {
    const receiver = await forum.receiver();
    const { id } = await forum.add(receiver.url);
    await forum.start('Old news');
    await until(async () => expect(await forum.history(`webhook_id=${id}&status=delivered`)).toHaveLength(1));
    const { data } = forum.app.app;
    const cleanUp = (): Promise<void> => forum.app.runSchedule('webhooks/job:tidy');
    const kept = async (): Promise<number> =>
      (await data.one(
        sql<{ n: number }>`select count(*)::integer as n from webhook_event where body like '%Old news%'`,
      ))!.n;
    await cleanUp();
    expect([await kept(), (await forum.history(`webhook_id=${id}`)).length]).toEqual([1, 1]);
    const long = new Date(forum.app.clock.now() - 31 * 24 * 3_600_000);
    await data.all(
      sql`update webhook_delivery set created_at = ${long} where event_id in (select id from webhook_event where body like '%Old news%')`,
    );
    await data.all(sql`update webhook_event set created_at = ${long} where body like '%Old news%'`);
    await cleanUp();
    expect([await kept(), (await forum.history(`webhook_id=${id}`)).length]).toEqual([0, 0]);
  });
});

describe('the statistics', () => {
  test('count attempts, successes and durations per hour', async () => {
    const receiver = await forum.receiver((_request, count) => ({ status: count === 4 ? 500 : 200, after: 20 }));
    const { id } = await forum.add(receiver.url);
    for (let n = 0; n < 4; n++) {
      await forum.start(`Counted ${n}`);
      await until(async () =>
        expect((await forum.history(`webhook_id=${id}`)).filter(({ status }) => status !== 'pending')).toHaveLength(
          n + 1,
        ),
      );
    }
    const stats = (await forum.root.get(`/admin/webhooks/stats?webhook_id=${id}`, JSON_ONLY)).body;
    expect(stats).toEqual({
      success: true,
      deliveries: 4,
      delivered: 3,
      failed: 1,
      pending: 1,
      success_rate: 0.75,
      p50_ms: expect.any(Number),
      p95_ms: expect.any(Number),
      per_hour: expect.any(Array),
    });
    expect([stats.p50_ms >= 20, stats.p95_ms >= stats.p50_ms, stats.per_hour.length]).toEqual([true, true, 24]);
    expect(stats.per_hour.at(-1)).toMatchObject({
      hour: expect.stringMatching(/:00:00\.000Z$/),
      delivered: 3,
      failed: 1,
    });
    expect(stats.per_hour[0]).toEqual({
      hour: expect.any(String),
      delivered: 0,
      failed: 0,
      p50_ms: null,
      p95_ms: null,
    });
    expect((await forum.root.get(`/admin/webhooks/stats?period=7d`, JSON_ONLY)).body.per_hour).toHaveLength(168);
    const nothing = (await forum.root.get('/admin/webhooks/stats?webhook_id=xyz', JSON_ONLY)).body;
    expect(nothing).toMatchObject({ deliveries: 0, success_rate: null, p50_ms: null });
    const page = await forum.root.get('/admin/webhooks/stats?period=30d');
    expect(page.text.match(/<svg class="chart"/g)).toHaveLength(4);
    expect(page.text).not.toMatch(/style="/);
    expect((await forum.root.get('/admin/webhooks/stats?period=1y', JSON_ONLY)).status).toBe(400);
  });
});
