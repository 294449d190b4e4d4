import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { settled, until, useWebhooks } from './forum.ts';
import type { Receiver } from './receiver.ts';

const HANGING = 20;
const EVENTS = 30;

const forum = useWebhooks();
const arrived = (receiver: Receiver, count: number): Promise<unknown> =>
  until(() => expect(receiver.received).toHaveLength(count));

describe('the queue of many webhooks', () => {
  test('sends every event once, a few at a time per webhook', async () => {
    const receivers = await Promise.all(Array.from({ length: 5 }, () => forum.receiver({ status: 200, after: 10 })));
    for (const { url } of receivers) await forum.add(url);
    await Promise.all(Array.from({ length: EVENTS }, (_, n) => forum.start(`Busy ${n}`)));
    for (const receiver of receivers) {
      await arrived(receiver, EVENTS);
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(EVENTS);
      expect(receiver.open.most).toBeLessThanOrEqual(4);
      expect(receiver.open.most).toBeGreaterThan(1);
    }
    await settled(forum.app);
    for (const receiver of receivers) expect(receiver.received).toHaveLength(EVENTS);
    await forum.app.app.data.all(sql`delete from webhook`);
  });

  test(`is not blocked by ${HANGING} receivers that hang, nor is other work`, async () => {
    const healthy = await forum.receiver();
    const hanging = await Promise.all(Array.from({ length: HANGING }, () => forum.receiver({})));
    for (const { url } of hanging) await forum.add(url);
    await forum.add(healthy.url);
    await forum.start('The first');
    await until(() => expect(hanging.every(({ received }) => received.length > 0)).toBe(true));
    const start = performance.now();
    for (let n = 0; n < 10; n++) await forum.start(`Meanwhile ${n}`);
    await arrived(healthy, 11);
    await until(async () =>
      expect((await forum.root.get('/api/events?limit=1&event=discussion.created&after=40')).body.count).toBe(1),
    );
    expect(performance.now() - start).toBeLessThan(6_000);
    for (const { open } of hanging) expect(open.most).toBeLessThanOrEqual(4);
    await forum.app.app.data.all(sql`delete from webhook`);
  });

  test('resumes without loss when the plugin is disabled and enabled in between', async () => {
    const receiver = await forum.receiver({});
    const webhook = await forum.add(receiver.url);
    for (let n = 0; n < 3; n++) await forum.start(`Interrupted ${n}`);
    await until(() => expect(receiver.received.length).toBeGreaterThan(0));
    const before = performance.now();
    await forum.app.app.kernel.disable('webhooks');
    expect(performance.now() - before).toBeLessThan(5_000);
    receiver.reply = { status: 200 };
    const first = receiver.received.length;
    await forum.app.app.kernel.enable('webhooks');
    await until(
      async () => expect(await forum.history(`webhook_id=${webhook.id}&status=delivered`)).toHaveLength(3),
      20_000,
    );
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    for (const { headers } of receiver.received.slice(0, first))
      expect(receiver.received.slice(first).map((later) => later.headers['webhook-id'])).toContain(
        headers['webhook-id'],
      );
    await forum.do('delete', { id: webhook.id });
  });

  test('recovers deliveries whose jobs were lost', async () => {
    const receiver = await forum.receiver();
    await forum.add(receiver.url);
    const { data } = forum.app.app;
    await forum.start('Found again');
    await arrived(receiver, 1);
    await settled(forum.app);
    const ago = new Date(forum.app.clock.now() - 11 * 60_000);
    await data.all(sql`update webhook_delivery set status = 'pending', job = gen_random_uuid(), created_at = ${ago}`);
    await forum.app.runSchedule('webhooks/job:revive');
    await arrived(receiver, 2);
    expect(receiver.received[1]!.headers['webhook-id']).toBe(receiver.received[0]!.headers['webhook-id']);
    await settled(forum.app);
    await data.all(sql`delete from webhook`);
  });
});
