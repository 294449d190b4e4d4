import { expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { miscounted } from 'parley-forum/testing';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'notifications.most': 100, 'notifications.days': 90 });
const DAY = 86_400_000;

test('members keep their newest notifications, up to the number and age in the settings', async () => {
  const { data } = forum.app.app;
  const { id } = await forum.start('ada', 'Told often');
  const [{ category }] = (await data.all(
    sql<{ category: string }>`select category_id as category from discussion where id = ${id}`,
  )) as [{ category: string }];
  const notify = async (name: 'ada' | 'bob', count: number, days: number): Promise<void> => {
    const at = new Date(forum.app.clock.now() - days * DAY);
    await data.all(sql`insert into notification (id, user_id, type, discussion_id, category_id, url, title, group_key, count, created_at)
      select gen_random_uuid(), ${forum.ids[name]}::uuid, 'reply', ${id}::uuid, ${category}::uuid, '/', n::text, ${`${days} `} || n, 1, ${at}::timestamptz + n * interval '1 second'
      from generate_series(1, ${count}::int) n`);
    await data.all(sql`insert into notification_count as c (user_id, category_id, unread) values (${forum.ids[name]}, ${category}, ${count})
      on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread`);
  };
  await notify('ada', 1_150, 1);
  await notify('bob', 5, 91);
  await notify('bob', 5, 89);
  const left = async (name: 'ada' | 'bob') =>
    (await data.one(
      sql<{
        count: number;
        oldest: string;
      }>`select count(*) as count, min(title::int) as oldest from notification where user_id = ${forum.ids[name]}`,
    ))!;
  await forum.app.runSchedule('notifications/job:clean');
  expect(await left('ada')).toEqual({ count: 100, oldest: 1_051 });
  expect(await left('bob')).toMatchObject({ count: 5 });
  expect((await forum.as.ada.get('/api/notifications/count')).body.count).toBe(100);
  expect(await miscounted(forum.app)).toEqual([]);
});

test('old read notifications are found by a separate index that excludes unread ones', async () => {
  const { data } = forum.app.app;
  const plan = await data.transaction(async () => {
    await data.all(sql`select set_config('enable_seqscan', 'off', true)`);
    return data.all(
      sql`explain select id from notification where is_read and created_at < now() order by created_at limit 500`,
    );
  });
  expect(JSON.stringify(plan)).toContain('notification_read_age');
});
