import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Data, Jobs, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Notifications } from 'parley-forum/ports/notifications';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { mailsOf, type SentMail } from '../mail/forum.ts';
import { listOf, POLL, readAll, settled } from './inbox.ts';

const DAY = 86_400_000;
const forum = useForum({ 'notifications.mail_delay': 3_600 });
const data = () => forum.app.app.service(Data);
const choose = async (name: Name, chosen: object) =>
  expectStatus(await forum.as[name].post('/settings/notifications', chosen, { accept: 'application/json' }), 200);
const login = (name: Name) => forum.as[name].login(name, 'Plain-Sailing-42');
const notify = (name: Name, more: object = {}) =>
  forum.app.app.service(Notifications).notify([
    {
      type: 'mention',
      userId: forum.ids[name],
      actorId: forum.ids.mia,
      url: '/d/1/2',
      title: 'Ropes',
      key: crypto.randomUUID(),
      ...more,
    },
  ]);
const hand = (job: string) =>
  data().all(sql`select 1 from job where listener = ${job} and cron is null and failed_at is null`);

/** Runs the scheduled jobs now, and the deliveries that follow from them. */
async function run(job: string): Promise<void> {
  await data().all(sql`update job set run_at = now() where listener = ${job} and cron is null`);
  await forum.app.app.service(Jobs).retry(job);
  for (const listener of [job, 'mail/job:deliver'])
    await vi.waitFor(async () => expect(await hand(listener)).toEqual([]), POLL);
}
/** The single mails or digests that were sent since the last call. */
let seen = 0;
async function sent(job = 'notifications/job:mail'): Promise<readonly SentMail[]> {
  if (job.endsWith('digest')) await forum.app.runSchedule(job);
  await run(job);
  const mails = await mailsOf(forum.app);
  return mails.slice(seen, (seen = mails.length));
}
const digests = () => sent('notifications/job:digest');
const linkOf = ({ headers }: SentMail): string =>
  new URL(/<(.*)>/.exec(headers['list-unsubscribe'] ?? '')![1]!).pathname;

beforeEach(async () => {
  for (const name of ['ada', 'bob'] as const) {
    await login(name);
    await choose(name, { channels: { mention: 'mail', reply: 'site' }, digest: 'none' });
    await readAll(forum.as[name]);
  }
  await sent();
});

describe('a single mail', () => {
  test('notifies the affected member of what happened', async () => {
    const { id } = await forum.start('mia', 'Knots');
    const post = await forum.reply('mia', id, 'Look, @ada: the **bowline**');
    await settled(forum);
    const [mail, ...others] = await sent();
    expect(others).toEqual([]);
    expect(mail!.headers).toMatchObject({
      to: 'ada@forum.test',
      subject: 'mia mentioned you in Knots',
      references: `<thread.${id}@forum.test>`,
    });
    expect(mail!.body).toContain('Look, @ada: the bowline');
    expect(mail!.body).toContain(
      `http://forum.test/d/${(await forum.guest.get(`/api/discussions/${id}`)).body.discussion.number}/${post.number}#post-${post.number}`,
    );
  });

  test('contains no text that its recipient may not see or wrote themselves', async () => {
    const { postId: hidden } = await forum.start('mia', 'Among us', 'staff');
    const { postId: own } = await forum.start('bob', 'Splices');
    await notify('ada', { postId: hidden });
    await notify('bob', { postId: own });
    const mails = await sent();
    expect(new Set(mails.map(({ headers: { to } }) => to))).toEqual(new Set(['ada@forum.test', 'bob@forum.test']));
    for (const { body } of mails) expect(body).not.toContain('About');
  });

  test('is not sent if the notification was read, disabled or hidden in the meantime', async () => {
    await notify('ada');
    await readAll(forum.as.ada);
    await notify('bob');
    await choose('bob', { channels: { mention: 'site' } });
    expect(await sent()).toEqual([]);
    await choose('bob', { channels: { mention: 'mail' } });
    const { id } = await forum.start('mia', 'Soon hidden');
    await notify('bob', { discussionId: id });
    const { category } = (await forum.as.mia.get('/api/categories/staff')).body;
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { category_id: category.id }), 200);
    expect(await sent()).toEqual([]);
  });

  test('is not sent for what is only wanted on the site, or to members who cannot log in', async () => {
    await notify('ada', { type: 'reply' });
    await notify('bob');
    const accounts = forum.app.app.service(Accounts);
    await accounts.setStatus(forum.ids.bob, 'disabled');
    expect(await sent()).toEqual([]);
    await accounts.setStatus(forum.ids.bob, 'active');
  });

  test('covers notifications that are combined while unread', async () => {
    for (let time = 0; time < 3; time++) await notify('ada', { group: 'one' });
    expect((await sent()).length).toBe(1);
  });
});

describe('the unsubscribe link', () => {
  test('works with one click and without a login, but not by a GET request', async () => {
    await notify('ada');
    const link = linkOf((await sent())[0]!);
    const looked = await forum.guest.get(link);
    expect([looked.status, looked.text.includes('someone mentions me')]).toEqual([200, true]);
    const program = forum.app.client();
    const clicked = await program.request('POST', link, { form: { 'List-Unsubscribe': 'One-Click' } });
    expect([clicked.status, clicked.text.includes('You will no longer receive these e-mails.')]).toEqual([200, true]);
    await notify('ada');
    expect(await sent()).toEqual([]);
    expect((await listOf(forum.as.ada, '?unread=true')).length).toBe(2);
  });

  test('cannot be forged', async () => {
    await notify('ada');
    const link = linkOf((await sent())[0]!);
    for (const wrong of [
      link.replace(forum.ids.ada, forum.ids.bob),
      link.replace('/mention/', '/reply/'),
      `${link.slice(0, -1)}_`,
    ]) {
      expect((await forum.guest.get(wrong)).status).toBe(404);
      expect((await forum.app.client().request('POST', wrong, { form: {} })).status).toBe(404);
    }
  });

  test('is in no log, even if it fails', async () => {
    await notify('ada');
    const link = linkOf((await sent())[0]!);
    await data().all(sql`alter table notification_preference rename to notification_preference_away`);
    expect((await forum.app.client().request('POST', link, { form: {} })).status).toBe(500);
    await data().all(sql`alter table notification_preference_away rename to notification_preference`);
    const failed = forum.app.lines.find(({ level, path }) => level === 'error' && String(path).includes('/stop/'));
    expect(failed?.['path']).toBe('/notifications/stop/:user/:kind/:token');
    expect(JSON.stringify(forum.app.lines)).not.toContain(link.split('/').at(-1));
  });
});

describe('digests', () => {
  // They are sent at seven in the morning.
  beforeEach(async () => {
    forum.app.clock.advance(DAY + DAY / 2 - (forum.app.clock.now() % DAY));
    for (const name of ['ada', 'bob'] as const) await login(name);
  });

  test('omit notifications of a disabled plugin, which the list shows as currently turned off', async () => {
    await choose('ada', { channels: { mention: 'site', message: 'mail' }, digest: 'daily' });
    forum.app.clock.advance(1_000);
    const message = { to: ['ada'], subject: 'Moorings', content: 'Where?' };
    expectStatus(await forum.as.bob.post('/api/conversations', message), 201);
    await notify('ada', { title: 'Ropes' });
    await settled(forum);
    await vi.waitFor(async () => expect(await listOf(forum.as.ada, '?unread=true')).toHaveLength(2), POLL);
    await forum.app.app.plugins.disable('messages');
    expect(await sent()).toEqual([]);
    forum.app.clock.advance(DAY);
    expect((await digests()).map(({ headers }) => headers['subject'])).toEqual(['1 thing you have not read']);
    await login('ada');
    const titles = (await listOf(forum.as.ada, '?unread=true')).map(({ title }) => title);
    expect(new Set(titles)).toEqual(new Set(['Ropes', 'something that is currently turned off']));
    const page = expectStatus(await forum.as.ada.get('/notifications'), 200).text;
    expect(page).toContain('<strong>something that is currently turned off</strong>');
    await forum.app.app.plugins.enable('messages');
  });

  test('are sent once a day with what is new, and not when there is nothing new', async () => {
    await choose('ada', { channels: { mention: 'site' }, digest: 'daily' });
    forum.app.clock.advance(1_000);
    await notify('ada', { title: 'Ropes' });
    await notify('ada', { title: 'Sails', type: 'reply' });
    await notify('ada', { title: 'Masts', type: 'reply', group: 'masts' });
    await notify('ada', { title: 'Masts', type: 'reply', group: 'masts', actorId: forum.ids.bob });
    expect(await digests()).toEqual([]);
    forum.app.clock.advance(DAY);
    const [mail, ...others] = await digests();
    expect(others).toEqual([]);
    expect(mail!.headers).toMatchObject({ to: 'ada@forum.test', subject: '3 things you have not read' });
    expect(mail!.body).toContain('mia mentioned you in Ropes');
    expect(mail!.body).toContain('bob and mia replied in Masts');
    expect(await digests()).toEqual([]);
    forum.app.clock.advance(DAY);
    expect(await digests()).toEqual([]);
    await notify('ada', { title: 'Masts' });
    forum.app.clock.advance(DAY);
    const [next] = await digests();
    expect([next!.headers['subject'], next!.body.includes('Ropes')]).toEqual(['1 thing you have not read', false]);
    await forum.app.client().request('POST', linkOf(next!), { form: {} });
    await login('ada');
    expect((await forum.as.ada.get('/settings/notifications', { accept: 'application/json' })).body.digest).toBe(
      'none',
    );
  });

  test('are sent at seven in the morning in the member’s time zone', async () => {
    const hour = DAY / 24;
    expectStatus(await forum.as.ada.submit('/settings/language', { language: '', timezone: 'Asia/Tokyo' }), 303);
    await choose('ada', { channels: { mention: 'site' }, digest: 'daily' });
    await choose('bob', { channels: { mention: 'site' }, digest: 'daily' });
    forum.app.clock.advance(1_000);
    await notify('ada');
    await notify('bob');
    forum.app.clock.advance(9.9 * hour);
    expect(await digests()).toEqual([]);
    forum.app.clock.advance(0.1 * hour);
    expect((await digests()).map(({ headers }) => headers['to'])).toEqual(['ada@forum.test']);
    forum.app.clock.advance(9 * hour);
    expect((await digests()).map(({ headers }) => headers['to'])).toEqual(['bob@forum.test']);
    await notify('ada');
    forum.app.clock.advance(14.9 * hour);
    expect(await digests()).toEqual([]);
    forum.app.clock.advance(0.1 * hour);
    expect((await digests()).map(({ headers }) => headers['to'])).toEqual(['ada@forum.test']);
  });

  test('are sent on Mondays to members who chose weekly digests', async () => {
    const now = new Date(forum.app.clock.now());
    forum.app.clock.advance(((9 - now.getUTCDay()) % 7) * DAY);
    await login('bob');
    await choose('bob', { digest: 'weekly' });
    forum.app.clock.advance(1_000);
    await notify('bob');
    await sent();
    forum.app.clock.advance(2 * DAY);
    expect(await digests()).toEqual([]);
    forum.app.clock.advance(4 * DAY);
    expect((await digests()).map(({ headers }) => headers['to'])).toEqual(['bob@forum.test']);
    forum.app.clock.advance(6 * DAY);
    expect(await digests()).toEqual([]);
  });

  test('for many members take as many SQL statements as for few, apart from the delivery', async () => {
    await data().all(sql`insert into account (id, username, email, password_hash, group_id, bio, joined_at)
      select gen_random_uuid(), 'many' || n, 'many' || n || '@forum.test', '!', 'member', '', now() from generate_series(1, 60) n`);
    const ids = (
      await data().all(sql<{ id: string }>`select id from account where username like 'many%' order by id`)
    ).map(({ id }) => id);
    const cost = async (members: readonly string[]): Promise<number> => {
      await data().all(
        sql`insert into notification_preference (user_id, channels, digest, digest_due_at)
          select id, '{}', 'daily', ${new Date(forum.app.clock.now())} from unnest(${members}::uuid[]) as m(id)`,
      );
      await forum.app.app
        .service(Notifications)
        .notify(members.map((userId) => ({ type: 'reaction', userId, url: '/', title: 'Many', key: 'many' })));
      forum.app.clock.advance(DAY);
      return forum.app.allStatements(async () => expect((await digests()).length).toBe(members.length));
    };
    const few = await cost(ids.slice(0, 10));
    // Each mail is delivered separately: fetched and closed, claimed and finished by the worker.
    expect(await cost(ids.slice(10))).toBeLessThan(few + 40 * 6);
  });
});
