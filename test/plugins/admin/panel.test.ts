import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineFilter, definePlugin } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Admin, adminSections, administer, adminTiles, memberColumns } from 'parley-forum/plugins/admin';
import { pages, redirect } from 'parley-forum/plugins/web';
import { startPanel, type PanelForum } from './forum.ts';

const floats = defineFilter<string>('boats.floats', 'abort');
const berthsAsked: number[] = [];
const boats = definePlugin({
  id: 'boats',
  needs: { admin: Admin },
  hooks: [floats],
  setup({ admin }, plugin) {
    plugin.on(floats, (): string => {
      throw new Error('no sight');
    });
    plugin.route(pages, { method: 'post', path: '/rafts', can: 'public', options: { csrf: false } })(async () =>
      redirect(await plugin.filter(floats, '/', undefined)),
    );
    plugin.extend(adminSections, { group: 'content' as const, label: 'Boats', href: '/admin/boats' });
    plugin.extend(adminTiles, {
      label: 'Boats',
      href: '/admin/boats',
      value: async () => ({ text: '<12>', state: 'good' }),
    });
    plugin.extend(memberColumns, {
      name: 'berth',
      label: 'Berth',
      loadMany: async (members) => {
        berthsAsked.push(members.length);
        return members.map(({ username }) => (username === 'mira' ? '<7>' : undefined));
      },
    });
    plugin.extend(memberColumns, { name: 'leak', label: 'Leak', loadMany: () => Promise.reject(new Error('glug')) });
    plugin.extend(adminTiles, { label: 'Sunk', value: () => Promise.reject(new Error('glug')) });
    plugin.route(pages, { method: 'get', path: '/admin/boats', can: administer })(() =>
      admin.view('@admin/dashboard', { title: 'All boats' }, { tiles: [] }),
    );
  },
});

let forum: PanelForum;
beforeAll(async () => {
  forum = await startPanel([boats]);
});
afterAll(() => forum[Symbol.asyncDispose]());
const json = { accept: 'application/json' };
const READS = ['/admin', '/admin/settings', '/admin/settings/api', '/admin/plugins', '/admin/users', '/admin/jobs'];
const WRITES = [
  '/admin/settings/save',
  '/admin/settings/reset',
  '/admin/plugins/enable',
  '/admin/plugins/disable',
  '/admin/plugins/release',
  '/admin/users/save',
  '/admin/users/end-sessions',
  '/admin/jobs/retry',
];

describe('the admin panel', () => {
  it('redirects guests to the login and back', async () => {
    for (const path of READS) {
      const { status, headers } = await forum.client().get(path);
      expect([status, headers.get('location')]).toEqual([303, `/login?return_to=${encodeURIComponent(path)}`]);
    }
  });

  it('answers API requests of guests with 401, and of members and moderators with 403', async () => {
    for (const path of READS) expect((await forum.client().get(path, json)).status, path).toBe(401);
    for (const name of ['mira', 'otto'] as const) {
      const client = await forum.session(name);
      for (const path of READS) expect((await client.get(path, json)).status, path).toBe(403);
      for (const path of WRITES) expect((await client.post(path, { id: 'api' }, json)).status, path).toBe(403);
      expect((await client.get('/')).text).not.toContain('href="/admin"');
    }
  });

  it('accepts changes only with a CSRF token', async () => {
    const ada = await forum.session('ada');
    for (const path of WRITES) {
      const answer = await ada.post(path, { id: 'boats' }, { ...json, 'x-csrf-token': 'wrong' });
      expect([answer.status, answer.body.code], path).toEqual([403, 'csrf_failed']);
    }
  });

  it('wraps every page in its navigation, those of other plugins too, and marks the current one', async () => {
    const ada = await forum.session('ada');
    const { status, text } = await ada.get('/admin/boats');
    expect(status).toBe(200);
    expect(text).toContain('<h1>All boats</h1>');
    expect(text).toMatch(/href="\/admin\/boats" aria-current="page">Boats</);
    for (const path of ['/admin', '/admin/settings', '/admin/plugins', '/admin/users', '/admin/jobs'])
      expect(text).toContain(`href="${path}"`);
    expect((await ada.get('/admin/settings/api')).text).toMatch(/href="\/admin\/settings" aria-current="page"/);
  });

  it('reports on its first page which plugin refuses all that it should check, with a button to disable it', async () => {
    const ada = await forum.session('ada');
    const refused = await ada.post('/rafts', {}, json);
    expect([refused.status, refused.headers.get('retry-after'), refused.body.error]).toEqual([
      503,
      '60',
      expect.stringContaining('The plugin "boats" could not check this, so it was refused: no sight'),
    ]);
    const guest = await forum.client().post('/rafts', {}, json);
    expect([guest.status, guest.body.error]).toEqual([
      503,
      'This cannot be checked right now, so it was not accepted; try again in a minute',
    ]);
    const { body, text } = { ...(await ada.get('/admin', json)), text: (await ada.get('/admin')).text };
    expect(body.alerts).toEqual([
      expect.objectContaining({ kind: 'refusing', id: 'boats', text: expect.stringContaining('no sight'), on: true }),
    ]);
    expect(text).toMatch(/cannot perform its checks[^]*action="\/admin\/plugins\/disable"[^]*value="boats"/);
    expect(
      (await ada.get('/admin/plugins', json)).body.plugins.find(({ id }: { id: string }) => id === 'boats').tasks,
    ).toContainEqual(expect.objectContaining({ refusing: true }));
  });

  it('collects tiles, and one that fails does not affect the others', async () => {
    const ada = await forum.session('ada');
    const { body } = await ada.get('/admin', json);
    expect(body.tiles).toContainEqual({ label: 'Boats', href: '/admin/boats', text: '<12>', state: 'good' });
    expect(body.tiles).toContainEqual({ label: 'Sunk', text: 'no response', state: 'warning' });
    expect(body.tiles).toContainEqual({ label: 'Version', text: '0.0.0-test' });
    expect((await ada.get('/admin')).text).toContain('&lt;12&gt;');
  });
});

describe('/admin/plugins', () => {
  it('disables and enables plugins at run time, and lists what stops with them', async () => {
    const ada = await forum.session('ada');
    const off = await ada.post('/admin/plugins/disable', { id: 'boats' }, json);
    expect([off.status, off.body]).toEqual([200, { success: true, stopped: ['boats'] }]);
    expect((await ada.get('/admin/boats')).status).toBe(404);
    expect((await ada.get('/admin/plugins')).text).not.toContain('href="/admin/boats"');
    const on = await ada.submit('/admin/plugins/enable', { id: 'boats' });
    expect([on.status, on.headers.get('location')]).toEqual([303, '/admin/plugins']);
    expect((await ada.get('/admin/boats')).status).toBe(200);
    expect(forum.lines).toContainEqual(
      expect.objectContaining({ message: 'a plugin was disabled', username: 'ada', target: 'boats' }),
    );
  });

  it('refuses to disable what the panel needs, and to change unknown plugins', async () => {
    const ada = await forum.session('ada');
    for (const id of ['admin', 'web', 'accounts'])
      expect((await ada.post('/admin/plugins/disable', { id }, json)).status).toBe(409);
    expect((await ada.post('/admin/plugins/disable', { id: 'nothing' }, json)).status).toBe(404);
    expect((await ada.post('/admin/plugins/enable', {}, json)).status).toBe(400);
  });

  it('shows what each plugin costs, and releases quarantined tasks', async () => {
    const ada = await forum.session('ada');
    for (let visit = 0; visit < 6; visit++) await ada.get('/admin');
    const boatsNow = async (): Promise<{ task: string; quarantined: boolean; lastError: string }[]> =>
      (await ada.get('/admin/plugins', json)).body.plugins.find((one: { id: string }) => one.id === 'boats').tasks;
    expect(await boatsNow()).toContainEqual(
      expect.objectContaining({ task: 'tile Sunk', quarantined: true, lastError: 'glug' }),
    );
    const page = (await ada.get('/admin/plugins')).text;
    expect(page).toContain('partly suspended');
    // Plugins with problems come first.
    expect(/id="plugin-([\w-]+)"/.exec(page)?.[1]).toBe('boats');
    expect((await ada.submit('/admin/plugins/release', { id: 'boats' })).status).toBe(303);
    expect((await boatsNow()).find(({ task }) => task === 'tile Sunk')?.quarantined).toBe(false);
  });
});

describe('/admin/users', () => {
  it('shows other plugins’ columns, loaded once per page, without any that fails', async () => {
    const ada = await forum.session('ada');
    berthsAsked.length = 0;
    const { users } = (await ada.get('/admin/users', json)).body as {
      readonly users: readonly { readonly username: string; readonly columns?: object }[];
    };
    expect(berthsAsked).toEqual([users.length]);
    expect(Object.fromEntries(users.map(({ username, columns }) => [username, columns]))).toEqual({
      mira: { berth: '<7>' },
      otto: undefined,
      ada: undefined,
    });
    const { text } = await ada.get('/admin/users?q=mira');
    expect(text).toContain('Berth: <span dir="auto">&lt;7&gt;</span>');
    expect(text).not.toContain('Leak');
  });

  it('finds members by name, e-mail address and group', async () => {
    const ada = await forum.session('ada');
    const names = async (query: string): Promise<string[]> =>
      (await ada.get(`/admin/users${query}`, json)).body.users.map((user: { username: string }) => user.username);
    expect(await names('')).toEqual(['ada', 'mira', 'otto']);
    expect(await names('?q=OTT')).toEqual(['otto']);
    expect(await names('?q=mira%40forum')).toEqual(['mira']);
    expect(await names(`?group_id=${forum.accounts.ada.groupId}`)).toEqual(['ada']);
    expect(await names('?q=%25')).toEqual([]);
    expect(await names('?page=2')).toEqual([]);
  });

  it('returns as many members as API clients request, and whether more follow', async () => {
    const ada = await forum.session('ada');
    const part = async (query: string): Promise<unknown> => {
      const { users, count, hasMore } = (await ada.get(`/admin/users?${query}`, json)).body;
      return [users.map(({ username }: { username: string }) => username), count, hasMore];
    };
    expect(await part('limit=2')).toEqual([['ada', 'mira'], 2, true]);
    expect(await part('limit=2&offset=2')).toEqual([['otto'], 1, false]);
    expect(await part('offset=3')).toEqual([[], 0, false]);
    for (const query of ['limit=0', 'limit=101', 'offset=-1'])
      expect((await ada.get(`/admin/users?${query}`, json)).status, query).toBe(400);
  });

  it('changes the group of a member, which logs them out', async () => {
    const [ada, mira] = [await forum.session('ada'), await forum.session('mira')];
    const group = forum.accounts.otto.groupId;
    const answer = await ada.post('/admin/users/save', { id: forum.accounts.mira.id, group_id: group }, json);
    expect([answer.status, answer.body.user.group.id]).toEqual([200, group]);
    expect((await mira.get('/settings/profile')).status).toBe(303);
    expect(
      (
        await ada.submit('/admin/users/save', { id: forum.accounts.mira.id, group_id: forum.accounts.mira.groupId })
      ).headers.get('location'),
    ).toBe('/admin/users?q=mira');
    expect(forum.lines).toContainEqual(
      expect.objectContaining({
        message: 'a member was changed',
        username: 'ada',
        target: forum.accounts.mira.id,
        to: group,
      }),
    );
  });

  it('disables and enables an account', async () => {
    const ada = await forum.session('ada');
    await ada.post('/admin/users/save', { id: forum.accounts.otto.id, status: 'disabled' }, json);
    await expect(forum.session('otto')).rejects.toThrow('login of otto answered 401');
    expect((await ada.get('/admin/users?q=otto')).text).toContain('Enable');
    await ada.post('/admin/users/save', { id: forum.accounts.otto.id, status: 'active' }, json);
    await forum.session('otto');
  });

  it('logs a member out everywhere', async () => {
    const [ada, mira] = [await forum.session('ada'), await forum.session('mira')];
    const answer = await ada.submit('/admin/users/end-sessions', { id: forum.accounts.mira.id });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/admin/users?q=mira']);
    expect((await mira.get('/settings/profile')).status).toBe(303);
    expect((await ada.post('/admin/users/end-sessions', { id: 'nobody' }, json)).status).toBe(404);
  });

  it('keeps administrators from locking themselves out, and refuses unknown members, groups and statuses', async () => {
    const ada = await forum.session('ada');
    const save = async (body: object): Promise<number> => (await ada.post('/admin/users/save', body, json)).status;
    expect(await save({ id: forum.accounts.ada.id, group_id: forum.accounts.mira.groupId })).toBe(400);
    expect(await save({ id: forum.accounts.ada.id, status: 'disabled' })).toBe(400);
    expect(await save({ id: 'nobody', status: 'disabled' })).toBe(404);
    expect(await save({ id: forum.accounts.mira.id, group_id: 'nothing' })).toBe(400);
    expect(await save({ id: forum.accounts.mira.id, group_id: 'guest' })).toBe(400);
    expect(await save({ id: forum.accounts.mira.id, status: 'asleep' })).toBe(400);
    const shown = await ada.submit('/admin/users/save', { id: forum.accounts.mira.id, group_id: 'nothing' });
    expect([shown.status, shown.text.includes('is not a group that members can be in')]).toEqual([400, true]);
  });

  it('leaves one of two administrators who take each other’s rights away at once', async () => {
    const { ada, mira } = forum.accounts;
    const accounts = forum.app.service(Accounts);
    await accounts.setGroup(mira.id, ada.groupId);
    const [one, other] = [await forum.session('ada'), await forum.session('mira')];
    const answers = await Promise.all([
      one.post('/admin/users/save', { id: mira.id, group_id: mira.groupId }, json),
      other.post('/admin/users/save', { id: ada.id, status: 'disabled' }, json),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const left = await accounts.viewers([ada.id, mira.id]);
    expect([...left.values()].filter(({ group }) => group.id === ada.groupId)).toHaveLength(1);
    await accounts.setStatus(ada.id, 'active');
    await accounts.setGroup(mira.id, mira.groupId);
  });
});

describe('/admin/jobs', () => {
  it('lists durable jobs, and requeues failed ones', async () => {
    const ada = await forum.session('ada');
    expect((await ada.get('/admin/jobs', json)).body).toMatchObject({ success: true, jobs: expect.any(Array) });
    expect((await ada.post('/admin/jobs/retry', { listener: 'boats/job:none' }, json)).body).toEqual({
      success: true,
      count: 0,
    });
  });
});

it('the styles of the panel are on its pages only', async () => {
  const ada = await forum.session('ada');
  const sheets = async (path: string): Promise<readonly string[]> =>
    [...(await ada.get(path)).text.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href = '']) => href);
  const [panel, home] = [await sheets('/admin'), await sheets('/')];
  expect(panel.slice(0, -1)).toEqual(home);
  expect(panel.at(-1)).toMatch(/\/page-admin\.css$/);
  const [own, others] = [await ada.get(panel.at(-1)!), await ada.get(home.at(-1)!)];
  expect([own.text.includes('.chart-figure'), others.text.includes('.chart-figure')]).toEqual([true, false]);
});
