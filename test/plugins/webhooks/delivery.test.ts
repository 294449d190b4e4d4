import { describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions } from 'parley-forum/plugins/discussions';
import { expectStatus } from '../discussions/forum.ts';
import { createCategoryLookup } from '../../../plugins/webhooks/events/category-lookup.ts';
import { settled, until, useWebhooks } from './forum.ts';
import { verify, type Receiver } from './receiver.ts';

const forum = useWebhooks({ 'webhooks.retry_delays': [1, 1], 'webhooks.retry_jitter': 0 });
const arrived = (receiver: Receiver, count: number): Promise<unknown> =>
  until(() => expect(receiver.received).toHaveLength(count));
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('an event', () => {
  test('is sent to every webhook subscribed to it, with a signature that the published library accepts', async () => {
    const [first, second, other] = [await forum.receiver(), await forum.receiver(), await forum.receiver()];
    const webhooks = [await forum.add(first.url), await forum.add(second.url)];
    await forum.add(other.url, { events: ['post.created'] });
    const { id } = await forum.start('Told at once');
    await Promise.all([arrived(first, 1), arrived(second, 1)]);
    for (const [at, receiver] of [first, second].entries()) {
      const [request] = receiver.received;
      expect(verify(webhooks[at]!.secret, request!)).toEqual(request!.body);
      expect(() => verify(webhooks[1 - at]!.secret, request!)).toThrow(/No matching signature/);
      expect(request!.body).toEqual({
        id: request!.headers['webhook-id'],
        event: 'discussion.created',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: {
          discussion: {
            id,
            number: expect.any(Number),
            title: 'Told at once',
            slug: 'told-at-once',
            url: expect.stringMatching(/^http:\/\/forum\.test\/d\/\d+-told-at-once$/),
            category_id: expect.stringMatching(UUID),
            author: { id: forum.ids['root'], username: 'root' },
            created_at: expect.any(String),
          },
        },
      });
      expect(request!.headers).toMatchObject({
        'x-forum-event': 'discussion.created',
        'x-forum-delivery': expect.stringMatching(UUID),
        'x-forum-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
        'content-type': 'application/json',
      });
    }
    expect(first.received[0]!.headers['webhook-id']).toBe(second.received[0]!.headers['webhook-id']);
    await settled(forum.app);
    expect(other.received).toEqual([]);
  });

  test('contains only the public fields of its kind', async () => {
    const receiver = await forum.receiver();
    await forum.add(receiver.url, {
      events: ['post.created', 'user.registered', 'report.created', 'discussion.created'],
    });
    const { id } = await forum.start('Four kinds');
    const post = await forum.reply(id, 'A **reply**');
    const {
      body: { report },
    } = await forum.mia.post('/api/reports', { post_id: post.id, reason: 'spam', note: 'between us' });
    const user = await forum.app.app
      .service(Accounts)
      .create({ username: 'newcomer', email: 'new@secret.test', password: 'Plain-Sailing-42', ip: '203.0.113.9' });
    await arrived(receiver, 4);
    const data = new Map(receiver.received.map(({ body }) => [body.event, body.data]));
    expect([...data.keys()].map(String).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'discussion.created',
      'post.created',
      'report.created',
      'user.registered',
    ]);
    expect(data.get('post.created')).toEqual({
      post: {
        id: post.id,
        discussion_id: id,
        number: 2,
        content: 'A **reply**',
        html: post.html,
        url: expect.stringMatching(/^http:\/\/forum\.test\/d\/\d+\/2/),
        author: { id: forum.ids['ada'], username: 'ada' },
        created_at: post.created_at,
        reply_to_number: null,
      },
    });
    expect(data.get('user.registered')).toEqual({
      user: { id: user.id, username: 'newcomer', joined_at: expect.any(String) },
    });
    expect(data.get('report.created')).toEqual({
      report: { id: report.id, post_id: post.id, reason: 'spam', created_at: report.created_at },
    });
    expect(receiver.received.map(({ text }) => text).join()).not.toMatch(
      /secret\.test|203\.0\.113|between us|\$2[aby]\$/,
    );
  });

  test('of a category is sent to webhooks of that category, and without a category to all', async () => {
    const receiver = await forum.receiver();
    const { categories } = await forum
      .save({
        name: 'Help only',
        url: receiver.url,
        events: ['discussion.created', 'post.created', 'post.held', 'report.created', 'user.registered'],
        categories: ['help'],
      })
      .then(({ webhook }) => webhook);
    expect(categories).toEqual([expect.stringMatching(UUID)]);
    const elsewhere = await forum.start('Elsewhere', 'general');
    const post = await forum.reply(elsewhere.id, 'not heard');
    await forum.mia.post('/api/reports', { post_id: post.id, reason: 'spam' });
    const helped = await forum.start('Help wanted', 'help');
    const reply = await forum.reply(helped.id, 'heard');
    await forum.mia.post('/api/reports', { post_id: reply.id, reason: 'abuse' });
    await forum.app.app.settings.set({ 'approval.words': ['barnacle'] });
    for (const { id } of [elsewhere, helped]) {
      const held = { discussion_id: id, content: 'A barnacle' };
      expectStatus(await forum.ada.post('/api/posts', held), 202);
    }
    await forum.app.app
      .service(Accounts)
      .create({ username: 'everywhere', email: 'everywhere@forum.test', password: 'Plain-Sailing-42' });
    await arrived(receiver, 5);
    await settled(forum.app);
    expect(receiver.received.map(({ body }) => String(body.event)).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'discussion.created',
      'post.created',
      'post.held',
      'report.created',
      'user.registered',
    ]);
    expect(receiver.received.map(({ text }) => text).join()).not.toMatch(/Elsewhere|not heard/);
  });

  test('belongs to the category of the post or discussion it names, whichever plugin emits it', async () => {
    const { app } = forum.app;
    const { id, postId } = await forum.start('Where it happens', 'help');
    const [help] = (await forum.app.client().get('/api/categories')).body.categories.filter(
      ({ slug }: { readonly slug: string }) => slug === 'help',
    );
    const payloads = [
      { post_id: postId },
      { vote: { discussion_id: id } },
      { category_id: 'x', post_id: postId },
      { at: 1 },
    ];
    const events = payloads.map((payload, at) => ({ id: String(at), event: 'boat.launched', payload, data: {} }));
    const found = await createCategoryLookup(app.service(Access), app.service(Discussions))(events);
    expect([...found.values()]).toEqual([help.id, help.id, 'x', undefined]);
  });

  test('is not sent if rolled back, or raised while the webhook is off', async () => {
    // A pending event would be sent to the new webhook too.
    await settled(forum.app);
    const receiver = await forum.receiver();
    const { id } = await forum.add(receiver.url, { events: ['discussion.created', 'user.registered'] });
    await expect(
      forum.app.app.data.transaction(async () => {
        await forum.app.app
          .service(Accounts)
          .create({ username: 'never', email: 'never@forum.test', password: 'Plain-Sailing-42' });
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    await forum.do('save', { id, active: false });
    await forum.start('While it is off');
    await settled(forum.app);
    await forum.do('save', { id, active: true });
    await forum.start('While it is on');
    await arrived(receiver, 1);
    expect(receiver.received[0]!.body.data.discussion.title).toBe('While it is on');
  });
});

describe('a receiver', () => {
  test('that fails gets the same event again with a new delivery id until it succeeds', async () => {
    const receiver = await forum.receiver((_request, count) => ({ status: count < 3 ? 500 : 202, body: 'what now' }));
    const webhook = await forum.add(receiver.url);
    await forum.start('Third time lucky');
    await arrived(receiver, 3);
    await settled(forum.app);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['x-forum-delivery'])).size).toBe(3);
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    for (const request of receiver.received) verify(webhook.secret, request);
    const history = await forum.history(`webhook_id=${webhook.id}`);
    expect(
      history.map(({ attempt, attempts, status, response_status: code }) => [attempt, attempts, status, code]),
    ).toEqual([
      [3, 3, 'delivered', 202],
      [2, 3, 'retrying', 500],
      [1, 3, 'retrying', 500],
    ]);
    expect(history.map(({ id }) => id)).toEqual(
      receiver.received.map(({ headers }) => headers['x-forum-delivery']).toReversed(),
    );
    const [last, , first] = history;
    expect([last!.next_attempt_at, last!.error, first!.error]).toEqual([null, null, 'Responded with 500']);
    const next = Date.parse(first!.next_attempt_at!);
    expect(next - Date.parse(first!.created_at)).toBeGreaterThanOrEqual(1_000);
    // Measured from the response: on a busy machine the attempt itself may be delayed.
    expect(next - (performance.timeOrigin + receiver.received[0]!.at)).toBeLessThan(1_500);
    for (const [at, { at: time }] of receiver.received.slice(1).entries())
      expect(time - receiver.received[at]!.at).toBeGreaterThan(950);
  });

  test('that never succeeds has failed after the last attempt, and still gets the next event', async () => {
    const receiver = await forum.receiver({ status: 503 });
    const webhook = await forum.add(receiver.url);
    await forum.start('Refused');
    await arrived(receiver, 3);
    await settled(forum.app);
    expect((await forum.history(`webhook_id=${webhook.id}`)).map(({ status }) => status)).toEqual([
      'failed',
      'retrying',
      'retrying',
    ]);
    receiver.reply = { status: 200 };
    await forum.start('Taken');
    await arrived(receiver, 4);
  });

  test.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': new Date(Date.now() + 40_000).toUTCString() }, undefined],
  ])('that sends Retry-After (%o) is not called until then', async (headers, wait) => {
    let answered = 0;
    const receiver = await forum.receiver((_request, count) => {
      if (count > 1) return { status: 200 };
      answered = Date.now();
      return { status: 429, headers };
    });
    const webhook = await forum.add(receiver.url);
    await forum.start('Later');
    await arrived(receiver, 1);
    await until(async () => expect((await forum.history(`webhook_id=${webhook.id}`))[0]!.status).toBe('retrying'));
    const next = (await forum.history(`webhook_id=${webhook.id}`))[0]!.next_attempt_at!;
    const asked = wait === undefined ? Date.parse(String(headers['retry-after'])) : answered + wait;
    expect(Date.parse(next)).toBeGreaterThan(asked - 1_200);
    if (wait === undefined) return;
    await arrived(receiver, 2);
    expect(receiver.received[1]!.at - receiver.received[0]!.at).toBeGreaterThan(wait - 50);
  });

  test('that redirects is not followed', async () => {
    const target = await forum.receiver();
    const receiver = await forum.receiver({ status: 302, headers: { location: target.url } });
    const webhook = await forum.add(receiver.url);
    await forum.start('Somewhere else');
    await arrived(receiver, 3);
    await settled(forum.app);
    expect(target.received).toEqual([]);
    expect((await forum.history(`webhook_id=${webhook.id}`))[0]).toMatchObject({
      status: 'failed',
      response_status: 302,
      error: expect.stringContaining('redirects are not followed'),
    });
  });

  test('that is unreachable is reported as such', async () => {
    const gone = await forum.receiver();
    await gone[Symbol.asyncDispose]();
    const webhook = await forum.add(gone.url);
    await forum.start('Nobody there');
    await until(async () => expect(await forum.history(`webhook_id=${webhook.id}&status=failed`)).toHaveLength(1));
    expect((await forum.history(`webhook_id=${webhook.id}`))[0]).toMatchObject({
      response_status: null,
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('that responds 410 is disabled with its pending deliveries, and administrators are notified', async () => {
    const receiver = await forum.receiver({ status: 500 });
    const webhook = await forum.add(receiver.url, { name: 'Gone for good' });
    await forum.start('One that waits');
    await arrived(receiver, 1);
    receiver.reply = { status: 410 };
    await forum.start('The last');
    await until(async () =>
      expect(
        (await forum.root.get('/admin/webhooks', { accept: 'application/json' })).body.webhooks.find(
          ({ id }: any) => id === webhook.id,
        ).active,
      ).toBe(false),
    );
    await settled(forum.app);
    const before = receiver.received.length;
    await forum.start('Not for it any more');
    await settled(forum.app);
    expect(receiver.received).toHaveLength(before);
    expect((await forum.history(`webhook_id=${webhook.id}&status=disabled`)).length).toBeGreaterThan(0);
    expect(await forum.history(`webhook_id=${webhook.id}&status=pending`)).toEqual([]);
    await until(async () =>
      expect((await forum.root.get('/api/notifications')).body.notifications).toContainEqual(
        expect.objectContaining({
          type: 'webhook_disabled',
          title: 'Gone for good',
          url: `http://forum.test/admin/webhooks?id=${webhook.id}`,
        }),
      ),
    );
    for (const client of [forum.ada, forum.mia]) {
      expect((await client.get('/api/notifications')).text).not.toContain('webhook_disabled');
      // It is not among their notification settings either.
      expect((await client.get('/settings/notifications')).text).not.toContain('webhook_disabled');
      expect((await client.submit('/settings/notifications', { 'channels[webhook_disabled]': 'off' })).status).toBe(
        303,
      );
    }
    expect((await forum.root.get('/settings/notifications')).text).toContain('webhook_disabled');
  });

  test('without a success for five days is disabled, unlike one with a success in between', async () => {
    const [bad, mixed] = [
      await forum.receiver({ status: 500 }),
      await forum.receiver((_request, count) => ({ status: count % 4 === 0 ? 200 : 500 })),
    ];
    const [first, second] = [await forum.add(bad.url), await forum.add(mixed.url)];
    const activity = async (): Promise<readonly boolean[]> => {
      const { webhooks } = (await forum.root.get('/admin/webhooks', { accept: 'application/json' })).body;
      return [first, second].map(({ id }) => webhooks.find((one: any) => one.id === id).active);
    };
    for (let day = 0; day < 5; day++) {
      await forum.start(`Day ${day}`);
      await until(async () =>
        expect((await forum.history(`webhook_id=${first.id}`)).length).toBeGreaterThanOrEqual(3 * (day + 1)),
      );
      await settled(forum.app);
      expect(await activity()).toEqual([true, true]);
      await forum.later(24 * 3_600_000 + 1_000);
    }
    await forum.start('The sixth day');
    await until(async () => expect(await activity()).toEqual([false, true]));
    await forum.do('save', { id: first.id, active: true });
    await forum.start('Given another chance');
    await settled(forum.app);
    expect(await activity()).toEqual([true, true]);
  });

  test('may send a long response, of which the beginning is stored', async () => {
    const receiver = await forum.receiver({ status: 200, body: `\0begin${'x'.repeat(2_000_000)}` });
    const webhook = await forum.add(receiver.url);
    await forum.start('Talkative');
    await until(async () => expect((await forum.history(`webhook_id=${webhook.id}`))[0]?.status).toBe('delivered'));
    const { id } = (await forum.history(`webhook_id=${webhook.id}`))[0]!;
    const { delivery } = (
      await forum.root.get(`/admin/webhooks/history?delivery_id=${id}`, { accept: 'application/json' })
    ).body;
    expect(delivery.response.startsWith('beginxxx')).toBe(true);
    expect(delivery.response.length).toBe(65_535);
  });

  test('that hangs times out after 15 seconds', async () => {
    const receiver = await forum.receiver({});
    const webhook = await forum.add(receiver.url);
    await forum.start('Waiting for an answer');
    await until(
      async () => expect((await forum.history(`webhook_id=${webhook.id}`))[0]?.status).toBe('retrying'),
      20_000,
    );
    const attempt = (await forum.history(`webhook_id=${webhook.id}`)).at(-1)!;
    expect(attempt.error).toBe('No response within 15 s');
    expect(attempt.duration_ms).toBeGreaterThan(14_900);
    expect(attempt.duration_ms).toBeLessThan(16_500);
    await forum.do('delete', { id: webhook.id });
  });
});
