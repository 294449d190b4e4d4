import { resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Deletions } from 'parley-forum/ports/personal-data';
import { loadMigrations } from '../../../core/host/loader.ts';
import { settled } from '../audit/settled.ts';
import { expectStatus, PASSWORD, type Name } from '../discussions/forum.ts';
import { listOf, readAll, shortly } from '../notifications/inbox.ts';
import { confirm, exported, places } from '../privacy/forum.ts';
import { useMessageReports } from './forum.ts';

const { forum, write, send, report, handle, list, page } = useMessageReports();
const DAY = 86_400_000;
const data = () => forum.app.app.service(Data);
const unread = async (name: Name) => {
  await forum.app.calm();
  return listOf(forum.as[name], '?unread=true');
};
const loggedIn = async (): Promise<void> => {
  for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].login(name, PASSWORD);
};
const newcomer = async (username: string) => {
  const { id } = await forum.app.app
    .service(Accounts)
    .create({ username, email: `${username}@forum.test`, password: PASSWORD, groupId: 'member' });
  const client = forum.app.client();
  await client.login(username, PASSWORD);
  return { id, client };
};

beforeEach(async () => {
  await forum.app.calm();
  for (const name of ['ada', 'bob', 'mia', 'root'] as const) await readAll(forum.as[name]);
});

describe('notifications and logs', () => {
  test('moderators get one notification while it is unread, without any text of the message', async () => {
    for (const words of ['One gannet', 'Two gannets']) await report('bob', (await write('ada', ['bob'], words)).id);
    for (const name of ['mia', 'root'] as const)
      expect(shortly(await unread(name))).toEqual([['message_report', 'see what was reported', 2, false]]);
    expect((await unread('mia'))[0]).toMatchObject({ actor: null, url: 'http://forum.test/mod/message-reports' });
    expect(await page('mia', '/notifications')).toContain('Private messages were reported, 2 times:');
    expect((await unread('ada')).filter(({ type }) => type !== 'message')).toEqual([]);
    expect((await places(forum.app, 'gannet')).toSorted()).toEqual([
      'conversation_message.content',
      'conversation_message.html',
      'message_report.content',
      'message_report.html',
    ]);
  });

  test('the author of the message and the reporter are not notified', async () => {
    await report('bob', (await write('mia', ['bob'], 'By mia')).id);
    await report('root', (await write('ada', ['root'], 'To root')).id);
    expect(shortly((await unread('root')).filter(({ type }) => type === 'message_report'))).toEqual([
      ['message_report', 'see what was reported', 1, false],
    ]);
    expect(shortly(await unread('mia'))).toEqual([['message_report', 'see what was reported', 1, false]]);
  });

  test('all reporters of a message are notified when it is handled, but never by whom', async () => {
    const { id } = await write('ada', ['bob', 'root'], 'To both of you');
    const one = await report('bob', id);
    await report('root', id);
    await forum.app.calm();
    for (const name of ['bob', 'root'] as const) await readAll(forum.as[name]);
    expectStatus(await handle('mia', one.id, 'dismissed', 'Harmless'), 200);
    for (const name of ['bob', 'root'] as const) {
      const [notified, ...others] = await unread(name);
      expect([notified, others]).toEqual([
        expect.objectContaining({ type: 'message_report_handled', title: 'a private message', actor: null }),
        [],
      ]);
    }
    expect(await page('bob', '/notifications')).toContain('A moderator handled your report of');
    expect((await unread('ada')).filter(({ type }) => type.startsWith('message_report'))).toEqual([]);
    expect(await page('bob', '/settings/notifications')).not.toContain('channels[message_report]');
  });

  test('logs get one entry for all reports of a message', async () => {
    const { id } = await write('ada', ['bob', 'root'], 'Logged once');
    const one = await report('bob', id);
    await report('root', id);
    expectStatus(await handle('mia', one.id, 'resolved', 'Quoted words'), 200);
    await settled(forum.app);
    const entries = await data().all(sql<{ reason: string }>`
      select id, action, actor_id, user_id, report_id, reason from moderation_entry
      where report_id = any(select id from message_report where message_id = ${id})`);
    expect(entries).toEqual([
      {
        id: one.id,
        action: 'message-report.resolved',
        actor_id: forum.ids.mia,
        user_id: forum.ids.ada,
        report_id: one.id,
        reason: '',
      },
    ]);
    const audited = (await forum.as.root.get('/admin/audit?limit=100', { accept: 'application/json' })).body.entries;
    expect(audited[0]).toMatchObject({
      action: 'moderation.message-report.resolved',
      actor: { username: 'mia' },
      subject: { type: 'message-report', id: one.id },
      details: { member: forum.ids.ada },
    });
    expect(await places(forum.app, 'quoted words')).toEqual(['message_report.handled_note']);
    expect(await page('ada', '/settings/standing')).not.toContain('Report of a private message');
  });
});

describe('a report of a message', () => {
  test('keeps the reported text when its author changes it, and links reports with another text', async () => {
    const { id } = await write('ada', ['bob', 'root'], 'A **rude** word');
    const first = await report('bob', id);
    expectStatus(await forum.as.ada.put(`/api/messages/${id}`, { content: 'A kind word' }), 200);
    const second = await report('root', id);
    expect((await report('bob', id)).message.content).toBe('A **rude** word');
    expectStatus(await forum.as.ada.delete(`/api/messages/${id}`), 200);
    expect((await send('bob', id)).status).toBe(404);
    const contents = new Map((await list()).reports.map((one: any) => [one.id, one.message.content]));
    expect([contents.get(first.id), contents.get(second.id)]).toEqual(['A **rude** word', 'A kind word']);
    // The card of the newest links to the others, and says that their text differs.
    expect(await page('mia', `/mod/message-reports/${second.id}`)).toMatch(
      new RegExp(`A kind word[^]*href="/mod/message-reports/${first.id}"[^]*of another text`),
    );
    expect(await page('mia', `/mod/message-reports/${first.id}`)).toMatch(/A <strong>rude<\/strong> word/);
    expectStatus(await handle('mia', second.id), 200);
  });

  test('mentions no other text if there is none', async () => {
    const { id } = await write('ada', ['bob', 'root'], 'One and the same');
    await report('bob', id);
    const { id: second } = await report('root', id);
    const shown = await page('mia', `/mod/message-reports/${second}`);
    expect([shown.includes('1 other report'), shown.includes('of another text')]).toEqual([true, false]);
    expectStatus(await handle('mia', second), 200);
  });
});

describe('a member’s data', () => {
  test('includes the reports they made, without the messages, and none about them', async () => {
    const { client } = await newcomer('rosa');
    await report('bob', (await write('ada', ['bob', 'rosa'], 'Not for bob’s archive')).id);
    const { id } = await write('ada', ['rosa'], 'Text of somebody else');
    const body = { message_id: id, reason: 'spam', note: 'Rosa says so' };
    expectStatus(await client.post('/api/message-reports', body), 201);
    await confirm(client);
    const files = await exported(forum.app, client);
    expect(JSON.parse(files.get('message-reports.json')!)).toMatchObject([{ ...body, status: 'open' }]);
    expect([...files.values()].join('\n')).not.toMatch(/Text of somebody else|Not for bob/);
    const { id: about } = (await list('?limit=1')).reports[0];
    await confirm(forum.as.ada);
    expect([...(await exported(forum.app, forum.as.ada)).values()].join('\n')).not.toMatch(
      new RegExp(`Rosa says so|${about}`),
    );
  });

  test.each(['anonymise', 'remove'] as const)(
    'in the copy of a reported message is erased with its author (%s)',
    async (mode) => {
      const { id, client } = await newcomer(`leaver${mode.length}`);
      const sent = { to: ['bob'], subject: 'Between us', content: `A dodo of ${mode}` };
      const { message } = expectStatus(await client.post('/api/conversations', sent), 201).body;
      const made = await report('bob', message.id, { note: 'Still here' });
      await forum.app.app.service(Deletions).erase(id, mode);
      await forum.app.calm();
      expect(
        (await places(forum.app, `dodo of ${mode}`)).filter((place) => place.startsWith('message_report')),
      ).toEqual([]);
      expect((await list()).reports[0]).toMatchObject({
        id: made.id,
        status: 'open',
        note: 'Still here',
        message: { content: '', html: '', is_deleted: true },
        reporter: { username: 'bob' },
      });
      expect(await page('mia', '/mod/message-reports')).toContain('has erased it with their account');
      expectStatus(await handle('mia', made.id), 200);
    },
  );

  test('in a report, their name and note, is erased with the reporter', async () => {
    const { id, client } = await newcomer('informer');
    const { id: message } = await write('ada', ['informer'], 'Stays for moderators');
    const body = { message_id: message, reason: 'abuse', note: 'A quokka of a note' };
    const { report: made } = expectStatus(await client.post('/api/message-reports', body), 201).body;
    await forum.app.app.service(Deletions).erase(id, 'anonymise');
    await forum.app.calm();
    expect(await places(forum.app, 'quokka')).toEqual([]);
    expect((await places(forum.app, id)).filter((place) => place.startsWith('message_report'))).toEqual([]);
    const [found] = (await list()).reports;
    expect(found).toMatchObject({
      id: made.id,
      note: '',
      reporter: null,
      message: { content: 'Stays for moderators' },
    });
    expectStatus(await handle('mia', made.id), 200);
    await forum.app.calm();
  });
});

test('reports and their copies are deleted some days after they were handled', async () => {
  const old = await report('bob', (await write('ada', ['bob'], 'An old thylacine')).id);
  expectStatus(await handle('mia', old.id), 200);
  const waiting = await report('bob', (await write('ada', ['bob'], 'A thylacine that waits')).id);
  const forgotten = async (days: number): Promise<readonly string[]> => {
    forum.app.clock.advance(days * DAY);
    await forum.app.runSchedule('message-reports/job:forget');
    const rows = await data().all(sql<{ content: string }>`
      select content from message_report where content like '%thylacine%' order by id`);
    return rows.map(({ content }) => content);
  };
  expect(await forgotten(29)).toEqual(['An old thylacine', 'A thylacine that waits']);
  expect(await forgotten(2)).toEqual(['A thylacine that waits']);
  expect(await forgotten(400)).toEqual(['A thylacine that waits']);
  await loggedIn();
  await forum.app.app.settings.set({ 'message-reports.days': 1 });
  expectStatus(await handle('mia', waiting.id), 200);
  expect(await forgotten(2)).toEqual([]);
  await loggedIn();
  expect((await forum.as.mia.get(`/mod/message-reports/${old.id}`)).status).toBe(404);
});

test('there is no way to report while the plugin is disabled, and no data left once it is uninstalled', async () => {
  const { kernel } = forum.app.app;
  const { conversation, id } = await write('ada', ['bob'], 'Read in any case');
  const offered = async (): Promise<boolean> =>
    (await page('bob', `/messages/${conversation}`)).includes('/messages/report/');
  const tables = async (): Promise<readonly string[]> => {
    const rows = await data().all(sql<{ name: string }>`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_name like 'message_report%' order by 1`);
    return rows.map(({ name }) => name);
  };
  await report('bob', id);
  expect([await offered(), await tables()]).toEqual([true, ['message_report']]);
  await kernel.disable('message-reports');
  expect(await offered()).toBe(false);
  for (const path of [`/messages/report/${id}`, '/mod/message-reports', '/api/message-reports'])
    expect((await forum.as.bob.get(path)).status).toBe(404);
  await forum.app.app.data.migrateDown(
    'message-reports',
    await loadMigrations(resolve(import.meta.dirname, '../../../migrations/message-reports')),
  );
  expect(await tables()).toEqual([]);
  await kernel.enable('message-reports');
  expect([await offered(), (await list()).reports]).toEqual([true, []]);
});

test('pages are available in German', async () => {
  const { id, conversation } = await write('ada', ['bob'], 'Guten Tag');
  const client = forum.app.client({ 'accept-language': 'de' });
  await client.login('bob', PASSWORD);
  expect((await client.get(`/messages/${conversation}`)).text).toContain('Nachricht 1 melden');
  expect((await client.get(`/messages/report/${id}`)).text).toContain('sonst nichts aus der Unterhaltung');
  const { id: made } = await report('bob', id);
  expectStatus(await handle('root', made, 'dismissed'), 200);
  const moderator = forum.app.client({ 'accept-language': 'de' });
  await moderator.login('mia', PASSWORD);
  expect((await moderator.get('/mod/message-reports?status=dismissed')).text).toContain('Eine Nachricht von ada');
  const late = await moderator.submit(`/mod/message-reports/${made}`, { status: 'resolved' });
  expect([late.status, late.text.includes('Diese Meldung ist schon abgelehnt')]).toEqual([409, true]);
});
