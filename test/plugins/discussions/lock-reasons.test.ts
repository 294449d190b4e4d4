import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();
const put = (id: string, body: object) => forum.as.mia.put(`/api/discussions/${id}`, body);
const record = async (id: string): Promise<any> =>
  expectStatus(await forum.guest.get(`/api/discussions/${id}`), 200).body.discussion;

describe('the reason for a lock', () => {
  test('is shown to all readers while the lock lasts, and is logged', async () => {
    const { id, number } = await forum.start('ada', 'Locked with a reason');
    expect((await record(id)).lock_reason).toBeNull();
    const locked = expectStatus(await put(id, { is_locked: true, lock_reason: ' Answered in <full>. ' }), 200);
    expect(locked.body.discussion).toMatchObject({ is_locked: true, lock_reason: 'Answered in <full>.' });
    const path = `/d/${number}-locked-with-a-reason`;
    for (const reader of [forum.guest, forum.as.bob, forum.as.mia])
      expect((await reader.get(path)).text).toContain('<p dir="auto">Answered in &lt;full&gt;.</p>');
    await expect
      .poll(async () => (await forum.as.mia.get('/mod/log?action=discussion.locked')).text)
      .toContain('Answered in &lt;full&gt;.');
    // Locking it again, or changing something else, keeps the reason.
    await put(id, { is_locked: true });
    await put(id, { title: 'Locked with a good reason' });
    expect((await record(id)).lock_reason).toBe('Answered in <full>.');
    await put(id, { is_locked: false });
    expect(await record(id)).toMatchObject({ is_locked: false, lock_reason: null });
    expect((await forum.guest.get(path.replace('a-reason', 'a-good-reason'))).text).not.toContain('Answered in');
  });

  test('is entered in a form of the discussion’s menu', async () => {
    const { id, number } = await forum.start('ada', 'Locked by form');
    const page = (await forum.as.mia.get(`/d/${number}-locked-by-form`)).text;
    expect(page).toMatch(/popovertarget="discussion-lock"[^]*id="discussion-lock" popover>[^]*name="lock_reason"/);
    const answer = await forum.as.mia.submit(`/d/${number}/moderate`, { action: 'lock', lock_reason: 'Enough said' });
    expect(answer.status).toBe(303);
    expect(await record(id)).toMatchObject({ is_locked: true, lock_reason: 'Enough said' });
    expect((await forum.as.mia.get(`/d/${number}-locked-by-form`)).text).not.toContain('id="discussion-lock"');
    const other = await forum.start('ada', 'Locked without');
    await forum.as.mia.submit(`/d/${other.number}/moderate`, { action: 'lock', lock_reason: '' });
    expect(await record(other.id)).toMatchObject({ is_locked: true, lock_reason: null });
  });

  test('is set by moderators only, and only for a locked discussion', async () => {
    const { id } = await forum.start('ada', 'Not for authors');
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { lock_reason: 'Mine' })).status).toBe(403);
    expectStatus(await put(id, { lock_reason: 'Of nothing' }), 200);
    expect((await record(id)).lock_reason).toBeNull();
    expect((await put(id, { is_locked: true, lock_reason: 'x'.repeat(501) })).status).toBe(400);
  });
});
