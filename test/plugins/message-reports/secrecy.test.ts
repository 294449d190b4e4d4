import { beforeAll, describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Messages } from 'parley-forum/plugins/messages';
import type { Client } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { expectStatus, type Name } from '../discussions/forum.ts';
import { useMessageReports } from './forum.ts';

const { forum, write, report, handle, list, page } = useMessageReports();
const REPORTED = 'octopus';
/** What else is in the conversation besides the reported message. */
let hidden: readonly string[];
/** Another participant: a member like others, whom other pages may name. */
let carla: readonly string[];
let id: string;
let message: string;

const found = (text: string, words: readonly string[] = hidden): readonly string[] =>
  words.filter((one) => text.toLowerCase().includes(one));
const say = async (name: Name, conversation: string, content: string): Promise<string> =>
  expectStatus(await forum.as[name].post(`/api/conversations/${conversation}/messages`, { content }), 201).body.message
    .id;

/** Ada writes to bob and to carla, who appears nowhere else; bob reports one of three messages. */
beforeAll(async () => {
  const { id: member } = await forum.app.app
    .service(Accounts)
    .create({ username: 'carla', email: 'carla@forum.test', password: 'Plain-Sailing-42', groupId: 'member' });
  const first = await write('ada', ['bob', 'carla'], 'A narwhal before it', 'Walrus subject');
  message = await say('ada', first.conversation, 'An octopus in it');
  const after = await say('bob', first.conversation, 'A puffin after it');
  carla = ['carla', member];
  hidden = ['walrus', 'narwhal', 'puffin', first.conversation, first.id, after];
  ({ id } = await report('bob', message, { note: 'An axolotl says' }));
  await forum.app.calm();
});

describe('in a conversation', () => {
  test('moderators and administrators see only the reported message', async () => {
    const paths = [
      '/api/message-reports',
      '/api/message-reports?status=open',
      '/mod/message-reports',
      `/mod/message-reports/${id}`,
    ];
    for (const name of ['mia', 'root'] as const)
      for (const path of paths) {
        const text = await page(name, path);
        expect([path, text.includes('An octopus in it'), found(text, [...hidden, ...carla])]).toEqual([path, true, []]);
      }
  });

  test('no text appears in other moderation pages, logs, notifications or events', async () => {
    const other = await report('bob', (await write('ada', ['bob'], 'Another octopus', 'Walrus again')).id);
    const answer = await handle('mia', other.id, 'dismissed', 'Only an octopus');
    expect(found(answer.text)).toEqual([]);
    await settled(forum.app);
    await forum.app.calm();
    const paths: Readonly<Partial<Record<Name, readonly string[]>>> = {
      mia: ['/mod', '/mod/log', '/mod/members/ada', '/mod/members/bob', '/mod/reports'],
      root: ['/mod/log', '/admin/audit', '/admin', '/api/reports'],
    };
    const everywhere = ['/notifications', '/api/notifications', '/api/events?limit=100', '/api/search?q=octopus'];
    for (const name of ['mia', 'root'] as const)
      for (const path of [...paths[name]!, ...everywhere]) {
        const text = (await page(name, path)).replace(/\bq=octopus|value="octopus"/g, '');
        expect([name, path, text.toLowerCase().includes(REPORTED), found(text)]).toEqual([name, path, false, []]);
      }
    const saved = await forum.as.mia.submit('/mod/log/export');
    expect(saved.text).toMatch(/message-report\.dismissed,mia,ada/);
    expect(saved.text.toLowerCase()).not.toContain(REPORTED);
    const log = await page('mia', '/mod/log');
    expect(log.match(/Report of a private message dismissed/g)).not.toBeNull();
    expect(log).not.toContain(`/mod/reports/${other.id}`);
  });

  test('the reported message gives no access to the rest', async () => {
    for (const name of ['mia', 'root'] as const)
      for (const path of [`/messages/report/${message}`, `/messages/${message}`, `/api/conversations/${message}`])
        expect([path, (await forum.as[name].get(path)).status]).toEqual([path, 404]);
  });

  test('no one else sees anything of the reports, not even in a refused form', async () => {
    const visitors: readonly Client[] = [forum.guest, forum.as.ada, forum.as.bob, forum.as.bad];
    for (const visitor of visitors) {
      for (const path of ['/mod/message-reports', `/mod/message-reports/${id}`, '/api/message-reports']) {
        const { status, text } = await visitor.get(path);
        expect([path, [303, 401, 403, 404].includes(status), text.toLowerCase().includes(REPORTED)]).toEqual([
          path,
          true,
          false,
        ]);
      }
      for (const form of [{ status: 'resolved' }, { _csrf: 'wrong', status: 'resolved' }, { status: 'burn' }]) {
        const { status, text } = await visitor.submit(`/mod/message-reports/${id}`, form);
        expect([status >= 400, /octopus|axolotl/i.test(text)]).toEqual([true, false]);
      }
    }
    expect((await list()).reports.find((one: any) => one.id === id)).toMatchObject({ status: 'open' });
  });
});

describe('a moderator', () => {
  test('can neither see nor handle reports of their own messages, unlike administrators', async () => {
    const own = await report('bob', (await write('mia', ['bob'], 'By a pelican')).id);
    expect((await list('?limit=100')).reports.map((one: any) => one.id)).not.toContain(own.id);
    expect((await handle('mia', own.id)).status).toBe(404);
    expect((await forum.as.mia.get(`/mod/message-reports/${own.id}`)).status).toBe(404);
    expect((await forum.as.mia.submit(`/mod/message-reports/${own.id}`, { status: 'dismissed' })).status).toBe(404);
    expect(await page('mia', '/mod/message-reports')).not.toContain('pelican');
    expect(await page('root', '/mod/message-reports')).toContain('pelican');
    const ofAdmin = await report('bob', (await write('root', ['bob'], 'By a pelican, too')).id);
    for (const each of [own, ofAdmin]) expect((await handle('root', each.id)).status).toBe(200);
  });

  test('in a conversation can report a message like others, and may handle the report', async () => {
    const made = await report('mia', (await write('ada', ['mia'], 'To a moderator')).id);
    expect((await handle('mia', made.id)).status).toBe(200);
  });
});

test('plugins get a message only if their viewer may read it', async () => {
  const viewers = await forum.app.app.service(Accounts).viewers(Object.values(forum.ids));
  const messages = forum.app.app.service(Messages);
  const seen = async (name: Name) => (await messages.find(message, viewers.get(forum.ids[name])!))?.content;
  expect([await seen('ada'), await seen('bob')]).toEqual(['An octopus in it', 'An octopus in it']);
  expect([await seen('mia'), await seen('root')]).toEqual([undefined, undefined]);
  const { group } = viewers.get(forum.ids.root)!;
  expect(await messages.find(message, { id: undefined, username: undefined, group })).toBeUndefined();
});

test('an image that is no longer allowed is not shown to moderators either', async () => {
  const made = await report('bob', (await write('ada', ['bob'], '![a boat](https://boats.example/a.png)')).id);
  await forum.app.app.service(Data).all(sql`update message_report set image_rule = 'another',
    html = '<p><img src="/api/discussions" alt="a boat"></p>' where id = ${made.id}`);
  expect((await list()).reports[0]).toMatchObject({ id: made.id, message: { html: '<p>a boat</p>' } });
  expect(await page('mia', `/mod/message-reports/${made.id}`)).not.toContain('src="/api/discussions"');
});
