import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { definePermission } from 'parley-forum';
import { Access, type Viewer } from 'parley-forum/plugins/access';
import type { TestForum } from 'parley-forum/testing';
import { openForum } from '../accounts/forum.ts';

const read = definePermission('test.read', { label: 'read', default: 'everyone' });
const write = definePermission('test.write', { label: 'write', default: 'member' });
const lock = definePermission('test.lock', { label: 'lock', default: 'moderator' });
const HOUR = 3_600_000;

describe('a suspension', () => {
  let forum: TestForum;
  let access: Access;
  let userId: string;
  const someone = (groupId: string, id = userId): Viewer => ({ id, username: 'x', group: access.group(groupId)! });
  const later = (hours: number): Date => new Date(forum.clock.now() + hours * HOUR);
  const suspend = async (hours: number, reason = 'Shouting'): Promise<void> => {
    await access.suspend({ userId, until: later(hours), reason });
    await access.refresh();
  };

  beforeAll(async () => {
    forum = await openForum();
    access = forum.app.service(Access);
  });
  beforeEach(() => void (userId = crypto.randomUUID()));
  afterAll(() => forum[Symbol.asyncDispose]());

  it('limits a member to what guests may do, but keeps what they may read', async () => {
    await suspend(1);
    expect([read, write, lock].map((permission) => access.allows(someone('moderator'), permission))).toEqual([
      true,
      false,
      false,
    ]);
    expect(access.admits('members', someone('member'))).toBe(true);
    expect(access.admits('staff', someone('moderator'))).toBe(true);
    expect(access.signature(someone('member'))).not.toBe(access.signature(someone('member', crypto.randomUUID())));
    expect(access.allows(someone('member', crypto.randomUUID()), write)).toBe(true);
  });

  it('ends when it expires or is lifted', async () => {
    await suspend(1);
    forum.clock.advance(HOUR - 1);
    expect(access.allows(someone('member'), write)).toBe(false);
    forum.clock.advance(1);
    expect(access.allows(someone('member'), write)).toBe(true);
    expect(access.suspension(userId)).toBeUndefined();
    await suspend(1);
    await access.release(userId);
    await access.refresh();
    expect(access.allows(someone('member'), write)).toBe(true);
    await access.release(userId);
  });

  it('replaces the current one; all are listed in the order in which they end', async () => {
    await suspend(5, 'First');
    await suspend(2, 'Second');
    expect(access.suspension(userId)).toEqual({ userId, until: later(2), reason: 'Second' });
    const other = crypto.randomUUID();
    await access.suspend({ userId: other, until: later(1), reason: 'Sooner' });
    await access.refresh();
    expect(access.suspensions().map((one) => one.userId)).toEqual([other, userId]);
  });

  it('does not apply to admins or guests, and cannot end in the past', async () => {
    await suspend(1);
    expect(access.allows(someone('admin'), lock)).toBe(true);
    expect(access.suspension(undefined)).toBeUndefined();
    await expect(access.suspend({ userId, until: later(0), reason: '' })).rejects.toMatchObject({ status: 400 });
  });

  it('is rolled back with its transaction', async () => {
    const broken = forum.app.data.transaction(async () => {
      await access.suspend({ userId, until: later(1), reason: 'Not meant' });
      throw new Error('changed my mind');
    });
    await expect(broken).rejects.toThrow('changed my mind');
    await access.refresh();
    expect(access.suspension(userId)).toBeUndefined();
  });
});

describe('the order of groups', () => {
  it('decides who outranks whom', async () => {
    await using forum = await openForum();
    const access = forum.app.service(Access);
    const above = (groupId: string): readonly string[] => {
      const viewer: Viewer = { id: 'x', username: 'x', group: access.group(groupId)! };
      return access
        .groups()
        .filter((group) => access.outranks(viewer, group))
        .map(({ id }) => id);
    };
    expect(above('moderator')).toEqual(['banned', 'guest', 'member']);
    expect(above('admin')).toEqual(['banned', 'guest', 'member', 'moderator']);
    expect(above('banned')).toEqual([]);
  });
});
