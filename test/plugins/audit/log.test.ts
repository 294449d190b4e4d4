import { beforeAll, describe, expect, test } from 'vitest';
import { createId, Data, defineAction, definePlugin, Secrets, sql, type PluginHandle } from 'parley-forum';
import { AuditLog, type AuditRecord } from 'parley-forum/plugins/audit';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { RootKey } from 'parley-forum/plugins/secrets';
import { leastOf, startForum, type Client } from 'parley-forum/testing';
import { LogWriter } from '../../../plugins/audit/log-writer.ts';
import { Seals } from '../../../plugins/audit/seals.ts';
import { install, useForum } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum();
const DAY = 86_400_000;
const JSON_ONLY = { accept: 'application/json' };

/** A third-party plugin whose action leaves an entry if its rule says so. */
const opened = defineAction<{ readonly door: string; readonly by?: string; readonly quietly?: boolean }>('door.opened');
let doors: PluginHandle;
const doorkeeper = definePlugin({
  id: 'doorkeeper',
  hooks: [opened],
  setup(_services, plugin) {
    doors = plugin;
    plugin.extend(
      auditRules,
      audited(opened, ['door.opened'], ({ door, by, quietly }) =>
        quietly
          ? undefined
          : {
              action: 'door.opened',
              actor: by,
              subject: { type: 'door', id: door },
              address: '192.0.2.7',
              details: { door, long: 'x'.repeat(500), wide: 3, open: true },
            },
      ),
    );
  },
});

async function entriesFor(query = '', client: Client = forum.as.root): Promise<readonly AuditRecord[]> {
  await settled(forum.app);
  return (await client.get(`/admin/audit?limit=100${query}`, JSON_ONLY)).body.entries;
}
const verify = (): ReturnType<AuditLog['verify']> => forum.app.app.service(AuditLog).verify();
const all = <T>(statement: Parameters<typeof forum.app.app.data.all<T>>[0]): Promise<T[]> =>
  forum.app.app.data.all(statement);

beforeAll(() => install(forum.app, doorkeeper));

describe('an audit entry', () => {
  test('records who did what to what, from where and when, with long text shortened', async () => {
    const { length: before } = await entriesFor('&action=door.opened');
    await doors.emit(opened, { door: 'cellar', by: forum.ids.mia });
    const entries = await entriesFor('&action=door.opened');
    expect(entries).toHaveLength(before + 1);
    expect(entries[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      action: 'door.opened',
      actor: { id: forum.ids.mia, username: 'mia' },
      subject: { type: 'door', id: 'cellar' },
      address: '192.0.2.7',
      details: { door: 'cellar', long: `${'x'.repeat(199)}…`, wide: 3, open: true },
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    });
  });

  test('is omitted if the rule says so, or if the transaction was rolled back', async () => {
    const before = await entriesFor();
    await doors.emit(opened, { door: 'cellar', quietly: true });
    await forum.app.app.data
      .transaction(async () => {
        await doors.emit(opened, { door: 'attic' });
        throw new Error('changed our minds');
      })
      .catch(() => undefined);
    expect(await entriesFor()).toEqual(before);
  });

  test('is also one line of the server log, without secrets', async () => {
    await doors.emit(opened, { door: 'garden' });
    await settled(forum.app);
    const lines = forum.app.lines.filter((line) => line['audit'] === true && line['subjectId'] === 'garden');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        message: 'door.opened',
        action: 'door.opened',
        address: '192.0.2.7',
        at: expect.stringMatching(/Z$/),
      }),
    ]);
  });

  test('without an actor is attributed to the system or a guest', async () => {
    await doors.emit(opened, { door: 'gate' });
    expect((await entriesFor('&subject=door:gate'))[0]!.actor).toBeNull();
    expect((await forum.as.root.get('/admin/audit?subject=door:gate')).text).toContain('system or guest');
  });
});

describe('the audit page', () => {
  test('shows entries to administrators only', async () => {
    await doors.emit(opened, { door: 'cellar', by: forum.ids.ada });
    await settled(forum.app);
    const { status, text } = await forum.as.root.get('/admin/audit');
    expect(status).toBe(200);
    for (const part of ['door.opened', 'cellar', '192.0.2.7', `href="/admin/audit?actor=${forum.ids.ada}"`])
      expect(text).toContain(part);
    for (const client of [forum.as.ada, forum.as.mia])
      expect((await client.get('/admin/audit', JSON_ONLY)).status).toBe(403);
    expect((await forum.guest.get('/admin/audit', JSON_ONLY)).status).toBe(401);
  });

  test('filters by action, actor, subject and dates', async () => {
    await doors.emit(opened, { door: 'roof', by: forum.ids.bob });
    const [entry] = await entriesFor('&subject=door:roof');
    expect(await entriesFor('&action=door.opened&actor=bob&subject=roof')).toEqual([entry]);
    expect(await entriesFor(`&actor=${forum.ids.bob}&subject=roof`)).toEqual([entry]);
    for (const nothing of [
      '&actor=nobody-at-all',
      '&subject=window:roof',
      '&action=door.shut&subject=roof',
      '&subject=roof&to=2020-01-01',
      '&subject=roof&from=2999-01-01',
    ]) {
      expect(await entriesFor(nothing), nothing).toEqual([]);
    }
    const day = entry!.created_at.slice(0, 10);
    expect(await entriesFor(`&subject=roof&from=${day}&to=${day}`)).toEqual([entry]);
  });

  test.each(['from=yesterday', 'to=2026-13-40', 'to=9999-12-31', 'limit=0', 'cursor=x', 'cursor=W10', 'offset=-1'])(
    'refuses %s',
    async (query) => {
      expect((await forum.as.root.get(`/admin/audit?${query}`, JSON_ONLY)).status).toBe(400);
    },
  );

  test('has pages that together are the whole list', async () => {
    for (let n = 0; n < 5; n++) await doors.emit(opened, { door: `page-${n}`, by: forum.ids.ada });
    const whole = await entriesFor('&action=door.opened');
    const seen: AuditRecord[] = [];
    let query = '&action=door.opened';
    for (;;) {
      const { body } = await forum.as.root.get(`/admin/audit?limit=2${query}`, JSON_ONLY);
      expect(body.count).toBe(body.entries.length);
      seen.push(...body.entries);
      if (!body.hasMore) break;
      query = `&action=door.opened&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(whole);
    expect((await forum.as.root.get('/admin/audit?limit=2&action=door.opened')).text).toMatch(
      /rel="next" href="\/admin\/audit\?action=door\.opened&amp;cursor=/,
    );
  });

  test('leaves no entry when it is viewed, and takes a constant number of statements', async () => {
    const before = await entriesFor();
    await forum.as.root.get('/admin/audit');
    expect(await entriesFor()).toEqual(before);
    const asked = (limit: number): Promise<number> =>
      leastOf(() => forum.app.statements(() => forum.as.root.get(`/admin/audit?limit=${limit}`, JSON_ONLY)));
    expect(await asked(100)).toBe(await asked(1));
  });
});

describe('the audit log', () => {
  test('refuses updates, deletions and truncation in the database', async () => {
    await doors.emit(opened, { door: 'safe' });
    await settled(forum.app);
    for (const statement of [
      'update audit_entry set actor = null',
      'delete from audit_entry',
      'truncate audit_entry',
    ]) {
      await expect(all(sql.raw(statement)), statement).rejects.toThrow('never changed');
    }
  });

  test('verifies as intact when nothing was changed', async () => {
    const { entries, broken } = await verify();
    expect([entries > 5, broken]).toEqual([true, undefined]);
  });

  /** Tampers as the owner of the table could, verifies, and restores the table. */
  async function tampered(statement: string): Promise<number | undefined> {
    await all(sql.raw('create table audit_copy as select * from audit_entry'));
    await all(sql.raw('alter table audit_entry disable trigger user'));
    await all(sql.raw(statement));
    const { broken } = await verify();
    await all(sql.raw('truncate audit_entry'));
    await all(sql.raw('insert into audit_entry overriding system value select * from audit_copy'));
    await all(sql.raw('drop table audit_copy'));
    await all(sql.raw('alter table audit_entry enable trigger user'));
    expect((await verify()).broken).toBeUndefined();
    return broken;
  }
  const middle = '(select position from audit_entry order by position offset 2 limit 1)';

  test.each([
    ['the actor of an entry is changed', `update audit_entry set actor = gen_random_uuid() where position = ${middle}`],
    [
      'the time of an entry is changed',
      `update audit_entry set created_at = created_at + interval '1 second' where position = ${middle}`,
    ],
    [
      'the details of an entry are changed',
      `update audit_entry set details = details || '{"door":"another"}' where position = ${middle}`,
    ],
    ['an entry is removed', `delete from audit_entry where position = ${middle}`],
    ['the first entries are removed', `delete from audit_entry where position <= ${middle}`],
    [
      'an entry is inserted',
      `insert into audit_entry (id, action, details, created_at, previous, seal)
      select gen_random_uuid(), action, details, created_at, seal, seal from audit_entry order by position desc limit 1`,
    ],
  ])('detects when %s directly in the database', async (_what, statement) => {
    expect(await tampered(statement)).toEqual(expect.any(Number));
  });

  test('chains concurrent entries one after the other', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => doors.emit(opened, { door: `crowd-${n}` })));
    expect(
      (await entriesFor('&action=door.opened')).filter(({ subject }) => subject!.id.startsWith('crowd-')),
    ).toHaveLength(20);
    expect((await verify()).broken).toBeUndefined();
  });
});

describe('old entries', () => {
  const runRetention = (): Promise<void> => forum.app.runSchedule('audit/job:tend');

  test('are kept for ever if the setting is 0', async () => {
    await forum.app.app.settings.set({ 'audit.days': 0 });
    const [{ count: before } = { count: 0 }] = await all(
      sql<{ count: number }>`select count(*) as count from audit_entry`,
    );
    forum.app.clock.advance(Date.now() - forum.app.clock.now() + 4_000 * DAY);
    await runRetention();
    const [{ count: after } = { count: 0 }] = await all(
      sql<{ count: number }>`select count(*) as count from audit_entry`,
    );
    expect(after).toBe(before);
  });

  test('are kept for at least thirty days, whatever the setting', async () => {
    await forum.app.app.settings.set({ 'audit.days': 1 });
    const now = forum.app.clock.now();
    const [{ count: before } = { count: 0 }] = await all(
      sql<{ count: number }>`select count(*) as count from audit_entry`,
    );
    forum.app.clock.advance(Date.now() - now + 29 * DAY);
    await runRetention();
    expect(await all(sql<{ count: number }>`select count(*) as count from audit_entry`)).toEqual([{ count: before }]);
    forum.app.clock.advance(now - forum.app.clock.now());
  });

  test('are deleted after the configured days, with an entry about it, and the rest stays intact', async () => {
    await forum.app.app.settings.set({ 'audit.days': 365 });
    const [{ count: before } = { count: 0 }] = await all(
      sql<{ count: number }>`select count(*) as count from audit_entry`,
    );
    await runRetention();
    const rows = await all(
      sql<{ action: string; details: { entries: number } }>`select action, details from audit_entry order by position`,
    );
    expect(rows).toEqual([{ action: 'audit.forgotten', details: { entries: before, last_seal: expect.any(String) } }]);
    expect(await verify()).toEqual({ entries: 1, broken: undefined });
  });

  test('are kept if the log has been tampered with, which is logged as an error', async () => {
    await all(sql.raw('alter table audit_entry disable trigger user'));
    await all(sql`update audit_entry set details = '{}'`);
    forum.app.clock.advance(400 * DAY);
    await runRetention();
    expect(await all(sql`select 1 from audit_entry`)).toHaveLength(1);
    expect(forum.app.lines).toContainEqual(
      expect.objectContaining({ level: 'error', audit: true, message: 'the audit log was altered' }),
    );
  });
});

test('thousands of old entries are deleted in batches, each with an entry about it, and the rest stays intact', async () => {
  await using other = await startForum();
  const { app, clock } = other;
  const data = app.service(Data);
  const seals = new Seals({ data, secrets: app.service(Secrets) });
  const writer = new LogWriter({ data, seals, log: app.log });
  const add = (count: number, days: number): Promise<unknown> =>
    data.transaction(() => {
      const without = { actor: null, subjectType: null, subjectId: null, address: null };
      const createdAt = new Date(clock.now() - days * DAY);
      return writer.append(
        Array.from({ length: count }, () => ({
          ...without,
          id: createId(clock.now()),
          action: 'door.opened',
          details: {},
          createdAt,
        })),
      );
    });
  await add(6_000, 366);
  await add(2, 364);
  await other.runSchedule('audit/job:tend');
  const rows = await data.all(
    sql<{ action: string; entries: number | null }>`
      select action, (details->>'entries')::integer as entries from audit_entry order by position`,
  );
  expect(rows).toEqual([
    { action: 'door.opened', entries: null },
    { action: 'door.opened', entries: null },
    { action: 'audit.forgotten', entries: 5_000 },
    { action: 'audit.forgotten', entries: 1_000 },
  ]);
  expect(await app.service(AuditLog).verify()).toEqual({ entries: 4, broken: undefined });
});

test('a new root key leaves an entry and keeps the seals valid', async () => {
  await using other = await startForum({ environment: { secretKey: undefined } });
  await install(other, doorkeeper);
  await doors.emit(opened, { door: 'before' });
  await settled(other);
  await other.app.service(RootKey).rotate();
  await doors.emit(opened, { door: 'after' });
  await settled(other);
  const actions = await other.app.data.all(sql<{ action: string }>`select action from audit_entry order by position`);
  expect(actions.map(({ action }) => action)).toEqual(['door.opened', 'root-key.rotated', 'door.opened']);
  expect(await other.app.service(AuditLog).verify()).toEqual({ entries: 3, broken: undefined });
});
