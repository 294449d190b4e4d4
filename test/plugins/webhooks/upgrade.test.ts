import { expect, test } from 'vitest';
import { sql, type Data } from 'parley-forum';
import Webhooks0002Jobs from '../../../migrations/webhooks/0002-jobs.ts';
import Webhooks0003OldSecrets from '../../../migrations/webhooks/0003-old-secrets.ts';
import type { Database } from '../../../core/data/database.ts';
import { settled, until, useWebhooks } from './forum.ts';
import { verify } from './receiver.ts';

const forum = useWebhooks({ 'webhooks.retry_delays': [3_600, 3_600] });

/** Each event as it was stored when webhooks had their own queues. */
const storedBefore = (data: Data, webhook: string, event: string, body: object): Promise<unknown> =>
  data.all(sql`with e as (
      insert into webhook_event (id, event, body, created_at) values (${event}, 'discussion.created', ${JSON.stringify(body)}, now()) returning id
    ) insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, due_at, created_at)
      select gen_random_uuid(), ${webhook}, id, 'discussion.created', 'pending', 1, 3, now(), now() from e`);

test('pending deliveries and retries of an earlier version are sent once after the upgrade', async () => {
  const receiver = await forum.receiver({ status: 500 });
  const { id: webhook } = await forum.add(receiver.url);
  await forum.start('To be sent again');
  await until(async () => expect((await forum.history())[0]?.status).toBe('retrying'));
  await settled(forum.app);
  const { data, kernel } = forum.app.app;
  await kernel.disable('webhooks');
  await (data as Database).migrateDown('webhooks', [Webhooks0002Jobs]);
  // An hour, plus or minus a fifth.
  expect(
    await data.all(sql`select d.status, d.due_at > now() + interval '45 minutes' as later, j.run_at = d.due_at as stored
      from webhook_delivery d join job j on j.payload ->> 'webhook' = d.webhook_id::text`),
  ).toEqual([{ status: 'retrying', later: true, stored: true }]);
  // One is due soon, one is being sent by the process that holds the lease, and one has a job about to send it.
  await data.all(sql`update webhook_delivery set due_at = now() + interval '1 second'`);
  await data.all(
    sql`update webhook set holder = gen_random_uuid(), held_until = now() + interval '20 seconds', added = 2`,
  );
  const ids = ['01990000-0000-7000-8000-000000000001', '01990000-0000-7000-8000-000000000002'];
  for (const id of ids) await storedBefore(data, webhook, id, { id });
  await data.all(
    sql`insert into job (id, listener, payload) values (gen_random_uuid(), 'webhooks/job:deliver', ${JSON.stringify({ webhook })})`,
  );

  receiver.reply = { status: 200 };
  await kernel.enable('webhooks');
  await until(() => expect(receiver.received).toHaveLength(4));
  await settled(forum.app);
  const [first, ...later] = receiver.received.map(({ headers }) => headers['webhook-id']!);
  expect(new Set(later)).toEqual(new Set([...ids, first]));
  const history = await forum.history(`webhook_id=${webhook}`);
  expect(history.map(({ status }) => String(status)).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'delivered',
    'delivered',
    'delivered',
    'retrying',
  ]);
  expect(history.find(({ attempt }) => attempt === 2)).toMatchObject({ event_id: first, status: 'delivered' });
  expect(await data.all(sql`select 1 from job where listener = 'webhooks/job:deliver'`)).toEqual([]);
});

test('a secret being replaced during the upgrade still signs together with the new one until it expires', async () => {
  const receiver = await forum.receiver();
  const { id, secret: old } = await forum.add(receiver.url);
  const { secret } = await forum.do('rotate-secret', { id });
  const { data, kernel } = forum.app.app;
  await kernel.disable('webhooks');
  await (data as Database).migrateDown('webhooks', [Webhooks0003OldSecrets]);
  expect(
    await data.all(sql`select old_secret_until > now() + interval '23 hours' as long from webhook where id = ${id}`),
  ).toEqual([{ long: true }]);
  await kernel.enable('webhooks');
  await forum.do('test', { id });
  for (const one of [secret, old]) verify(one, receiver.received[0]!);
  expect(receiver.received[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(2);
});
