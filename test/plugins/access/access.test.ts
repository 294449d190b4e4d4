import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePermission, type Permission } from 'parley-forum';
import { Access, type Level, type Viewer } from 'parley-forum/plugins/access';
import type { TestForum } from 'parley-forum/testing';
import { openForum } from '../accounts/forum.ts';

const LEVELS: readonly Level[] = ['banned', 'guest', 'member', 'moderator', 'admin'];
const read = definePermission('test.read', { label: 'read', default: 'everyone' });
const write = definePermission('test.write', { label: 'write', default: 'member' });
const lock = definePermission('test.lock', { label: 'lock', default: 'moderator' });
const rule = definePermission('test.rule', { label: 'rule', default: 'admin' });
const odd = definePermission('test.odd', { label: 'do odd things', default: 'wizard' });

describe('groups and permissions', () => {
  let forum: TestForum;
  let access: Access;
  const someone = (groupId: string): Viewer => {
    const group = access.group(groupId)!;
    return groupId === 'guest' ? { id: undefined, username: undefined, group } : { id: 'x', username: 'x', group };
  };
  const holders = (permission: Permission): readonly string[] =>
    LEVELS.filter((level) => access.allows(someone(level), permission));

  beforeAll(async () => {
    forum = await openForum();
    access = forum.app.service(Access);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('start with one group for each level', () => {
    expect(access.groups().map(({ id, name, level, builtIn }) => [id, name, level, builtIn])).toEqual([
      ['banned', 'Banned', 'banned', true],
      ['guest', 'Guest', 'guest', true],
      ['member', 'Member', 'member', true],
      ['moderator', 'Moderator', 'moderator', true],
      ['admin', 'Admin', 'admin', true],
    ]);
    expect(access.findGroup('MODERATOR')?.id).toBe('moderator');
    expect(access.guest).toMatchObject({ id: undefined, group: { id: 'guest' } });
  });

  it('grant a permission to its lowest group and all above it, and nothing to the banned', () => {
    expect(holders(read)).toEqual(['guest', 'member', 'moderator', 'admin']);
    expect(holders(write)).toEqual(['member', 'moderator', 'admin']);
    expect(holders(lock)).toEqual(['moderator', 'admin']);
    expect(holders(rule)).toEqual(['admin']);
    expect(holders(odd)).toEqual(['admin']);
  });

  it('follow explicit decisions and otherwise the default', async () => {
    await access.decide('member', lock, true);
    expect(holders(lock)).toEqual(['member', 'moderator', 'admin']);
    await access.decide('member', lock, false);
    await access.decide('guest', read, false);
    expect(holders(read)).toEqual(['member', 'moderator', 'admin']);
    await access.decide('guest', read, undefined);
    await access.decide('member', lock, undefined);
    expect([holders(read).length, holders(lock).length]).toEqual([4, 2]);
  });

  it('refuse to grant guests what is not for everyone or the banned anything, or to take anything from admins', async () => {
    await expect(access.decide('guest', write, true)).rejects.toMatchObject({ status: 400 });
    await expect(access.decide('banned', read, true)).rejects.toMatchObject({ status: 400 });
    await expect(access.decide('admin', rule, false)).rejects.toMatchObject({ status: 400 });
    await expect(access.decide('nowhere', rule, false)).rejects.toMatchObject({ status: 404 });
  });

  it('can be extended by custom groups with unique names', async () => {
    const writers = await access.saveGroup({ name: 'Writers', level: 'member' });
    expect(access.findGroup('writers')).toEqual(writers);
    await access.decide(writers.id, rule, true);
    expect(access.allows(someone(writers.id), rule)).toBe(true);
    await expect(access.saveGroup({ name: 'WRITERS', level: 'member' })).rejects.toMatchObject({ status: 400 });
    await expect(access.saveGroup({ id: 'member', name: 'Crew', level: 'admin' })).rejects.toMatchObject({
      status: 400,
    });
    await access.saveGroup({ id: writers.id, name: 'Authors', level: 'moderator' });
    expect(access.allows(someone(writers.id), lock)).toBe(true);
    expect(access.groups().map(({ id }) => id)).toEqual([
      'banned',
      'guest',
      'member',
      'moderator',
      writers.id,
      'admin',
    ]);
  });

  it('decide whom an audience admits', () => {
    const admitted = (audience: Parameters<Access['admits']>[0]): readonly string[] =>
      LEVELS.filter((level) => access.admits(audience, someone(level)));
    expect(admitted('everyone')).toEqual([...LEVELS]);
    expect(admitted('members')).toEqual(['member', 'moderator', 'admin']);
    expect(admitted('staff')).toEqual(['moderator', 'admin']);
    expect(admitted(['member'])).toEqual(['member', 'admin']);
    expect(admitted([])).toEqual(['admin']);
  });
});
