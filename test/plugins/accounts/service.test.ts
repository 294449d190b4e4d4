import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Data } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { TestForum } from 'parley-forum/testing';
import { commands } from '../../../plugins/accounts/commands.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';

describe('accounts', () => {
  let forum: TestForum;
  let accounts: Accounts;
  beforeAll(async () => {
    forum = await openForum();
    accounts = forum.app.service(Accounts);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('load the authors of a page with one statement, then with none', async () => {
    const people = await Promise.all(
      ['One', 'Two', 'Three'].map((username) =>
        accounts.create({ username, email: `${username}@example.org`, password: PASSWORD }),
      ),
    );
    const ids = [...people.map(({ id }) => id), people[0]!.id, 'nobody', '00000000-0000-7000-8000-000000000000'];
    expect(await forum.statements(() => accounts.authors(ids))).toBe(1);
    expect(await forum.statements(() => accounts.authors(ids.slice(0, 4)))).toBe(0);
    expect([...(await accounts.authors(ids)).values()]).toEqual(
      people.map(({ id, username }) => ({ id, username, display_name: null, avatar_url: null })),
    );
  });

  it('are reloaded after a change, even inside a longer transaction', async () => {
    const { id } = await accounts.create({ username: 'Mover', email: 'mover@example.org', password: PASSWORD });
    expect((await accounts.find(id))!.groupId).toBe('member');
    await forum.app.service(Data).transaction(() => accounts.setGroup(id, 'moderator'));
    expect(await accounts.find(id)).toMatchObject({ groupId: 'moderator', permissionsVersion: 2 });
    await accounts.setGroup(id, 'moderator');
    expect((await accounts.find(id))!.permissionsVersion).toBe(2);
  });

  it('count every change that ends sessions, even two at once', async () => {
    const { id } = await accounts.create({ username: 'Racer', email: 'racer@example.org', password: PASSWORD });
    await Promise.all([accounts.setGroup(id, 'moderator'), accounts.setPassword(id, 'Other-harbour-43')]);
    expect((await accounts.find(id))!.permissionsVersion).toBe(3);
  });

  it('refuse an unknown group and an unknown member', async () => {
    const { id } = await accounts.create({ username: 'Steady', email: 'steady@example.org', password: PASSWORD });
    await expect(accounts.setGroup(id, 'nowhere')).rejects.toMatchObject({ status: 400 });
    await expect(accounts.setGroup('nobody', 'member')).rejects.toMatchObject({ status: 404 });
  });

  it('are imported in thousands without events, all or none, and need a password to log in', async () => {
    const people = Array.from({ length: 4_500 }, (_, n) => ({
      username: `import-${n}`,
      email: `import-${n}@example.org`,
      joinedAt: new Date(Date.UTC(2020, 0, 1, 0, n)),
    }));
    const ids = await accounts.importAccounts(people);
    expect(new Set(ids).size).toBe(4_500);
    expect(await accounts.find(ids[4_499]!)).toMatchObject({
      username: 'import-4499',
      groupId: 'member',
      joinedAt: new Date(Date.UTC(2020, 0, 1, 0, 4_499)),
    });
    await expect(
      accounts.importAccounts([
        { username: 'import-new', email: 'a@example.org' },
        { username: 'Import-1', email: 'b@example.org' },
      ]),
    ).rejects.toMatchObject({ status: 400 });
    expect(await accounts.findByIdentifier('import-new')).toBeUndefined();
    const client = forum.client();
    await client.csrf();
    expect((await client.post('/login', { identifier: 'import-1', password: '!' })).status).toBe(401);
    await accounts.setPassword(ids[1]!, PASSWORD);
    await client.login('import-1', PASSWORD);
  });
});

describe('account commands', () => {
  let forum: TestForum;
  const printed: string[] = [];
  const run = async (name: string, options: object): Promise<void> => {
    const command = commands.find((one) => one.name === name)!;
    const services = { accounts: forum.app.service(Accounts), access: forum.app.service(Access) };
    await command.run(services, options, {
      terminal: false,
      columns: 80,
      print: (line) => void printed.push(line),
      progress: () => undefined,
      secret: () => Promise.resolve(undefined),
    });
  };
  beforeAll(async () => {
    forum = await openForum();
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('create and promote members and reset their passwords', async () => {
    await run('user create', { name: 'admin', email: 'admin@example.org', password: PASSWORD, group: 'Moderator' });
    expect(await forum.app.service(Accounts).findByIdentifier('admin')).toMatchObject({ groupId: 'moderator' });
    await run('user promote', { name: 'Admin', group: 'admin' });
    expect(await forum.app.service(Accounts).findByIdentifier('admin')).toMatchObject({ groupId: 'admin' });
    await run('user reset-password', { name: 'admin', password: 'Other-harbour-43' });
    await forum.client().login('admin', 'Other-harbour-43');
    expect(printed.join('\n')).not.toContain('harbour');
  });

  it('report an error in one line', async () => {
    await expect(run('user promote', { name: 'nobody', group: 'admin' })).rejects.toThrow(
      'There is no member "nobody"',
    );
    await expect(run('user promote', { name: 'admin', group: 'kings' })).rejects.toThrow('There is no group "kings"');
    await expect(run('user create', { name: 'admin', email: 'x@example.org', password: PASSWORD })).rejects.toThrow(
      'username: is taken',
    );
  });
});
