import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql, type Console } from 'parley-forum';
import { runCommand } from '../../../core/cli/run-command.ts';
import { useForum } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum({}, { allowedHosts: ['127.0.0.1'] });
const JSON_ONLY = { accept: 'application/json' };
const console: Console = {
  terminal: false,
  columns: 80,
  print: () => undefined,
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
const rows = <T = object>(statement: string): Promise<T[]> =>
  forum.app.app.data.all(sql.raw(statement) as ReturnType<typeof sql<T>>);
const post = async (path: string, body: object): Promise<any> => (await forum.as.root.post(path, body, JSON_ONLY)).body;
let category: string;
let tag: string;
let webhook: string;

/** The database state that administrators change. */
const state = async (): Promise<unknown> =>
  Promise.all(
    [
      'select key, value from setting order by key',
      'select slug from category order by slug',
      'select slug from tag order by slug',
      'select * from reaction_type order by slug',
      'select id, secret, active from webhook order by id',
      "select id, failed_at is null as again from job where listener = 'nobody/thing'",
      'select * from plugin_state order by id',
    ].map((statement) => rows(statement)),
  );

describe('nothing is changed if the audit entry cannot be stored', () => {
  beforeAll(async () => {
    await forum.as.root.csrf('/admin');
    category = (await post('/admin/categories/save', { name: 'Quay' })).category.id;
    tag = (await post('/admin/tags/save', { name: 'Rope' })).tag.id;
    webhook = (
      await post('/admin/webhooks/save', {
        name: 'Shed',
        url: 'http://127.0.0.1:9/',
        events: ['post.created'],
        active: false,
      })
    ).webhook.id;
    await post('/admin/settings/save', { 'site.name': 'Quay' });
    await rows(
      `insert into job (id, listener, payload, failed_at) values (gen_random_uuid(), 'nobody/thing', '{}', now())`,
    );
    await settled(forum.app);
    await rows(
      `create function no_room() returns trigger language plpgsql as $$ begin raise exception 'there is no room'; end $$`,
    );
    await rows(
      `create trigger no_room before insert on job for each row when (new.listener like 'audit/%') execute function no_room()`,
    );
  });
  afterAll(() => rows('drop function no_room cascade'));

  test.each([
    ['settings/save', () => ({ 'site.name': 'Pier' })],
    ['settings/reset', () => ({ key: 'site.name' })],
    ['jobs/retry', () => ({ listener: 'nobody/thing' })],
    ['categories/save', () => ({ name: 'Pier' })],
    ['categories/delete', () => ({ id: category })],
    ['tags/save', () => ({ name: 'Chain' })],
    ['tags/delete', () => ({ id: tag })],
    ['reactions/save', () => ({ slug: 'like', enabled: false })],
    ['webhooks/delete', () => ({ id: webhook })],
    ['webhooks/rotate-secret', () => ({ id: webhook })],
    ['webhooks/save', () => ({ id: webhook, active: true })],
    ['plugins/disable', () => ({ id: 'typing' })],
    ['plugins/enable', () => ({ id: 'typing' })],
  ])('by POST /admin/%s', async (path, body) => {
    const before = await state();
    expect((await forum.as.root.post(`/admin/${path}`, body(), JSON_ONLY)).status).toBe(500);
    expect(await state()).toEqual(before);
    expect(forum.app.app.settings.get('site.name')).toBe('Quay');
    expect(forum.app.app.kernel.state('typing')).toBe('active');
  });

  test.each([
    ['setting', 'set', 'site.name', 'Pier'],
    ['plugin', 'disable', 'typing'],
    ['user', 'promote', 'ada', '--group', 'moderator'],
  ])('by the command %s %s', async (...words) => {
    const before = await state();
    await expect(runCommand(forum.app.app, words, console)).rejects.toThrow('there is no room');
    expect(await state()).toEqual(before);
    expect(await rows(`select group_id from account where username = 'ada'`)).toEqual([{ group_id: 'member' }]);
  });
});

test('a plugin that could not be switched leaves two entries: the attempt, and that it stayed as it was', async () => {
  const { plugins } = forum.app.app;
  const disable = plugins.disable.bind(plugins);
  plugins.disable = () => Promise.reject(new Error('the rope broke'));
  expect((await forum.as.root.post('/admin/plugins/disable', { id: 'typing' }, JSON_ONLY)).status).toBe(500);
  plugins.disable = disable;
  await settled(forum.app);
  const done = await rows<{ action: string }>(
    `select action from audit_entry where subject_id = 'typing' order by position`,
  );
  expect(done.map(({ action }) => action)).toEqual(['plugin.disabled', 'plugin.stayed']);
});

test('a refusal to disable a required plugin leaves no entry', async () => {
  expect((await forum.as.root.post('/admin/plugins/disable', { id: 'web' }, JSON_ONLY)).status).toBe(409);
  await settled(forum.app);
  expect(await rows(`select 1 from audit_entry where subject_id = 'web'`)).toEqual([]);
});
