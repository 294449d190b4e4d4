import { describe, expect, test } from 'vitest';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

/** Moderators make members wait between two replies. */
const forum = useForum();
const slow = (name: Name, id: string, seconds: unknown) =>
  forum.as[name].put(`/api/discussions/${id}`, { slow_mode_seconds: seconds });
const reply = (name: Name, id: string) =>
  forum.as[name].post('/api/posts', { discussion_id: id, content: 'And I say' });
const pauseOf = async (id: string): Promise<number> =>
  (await forum.guest.get(`/api/discussions/${id}`)).body.discussion.slow_mode_seconds;

describe('a discussion in slow mode', () => {
  test('allows one reply per member and interval, and any number by moderators', async () => {
    const { id } = await forum.start('ada', 'Anchors or moorings');
    expect(await pauseOf(id)).toBe(0);
    expectStatus(await slow('mia', id, 300), 200);
    expect(await pauseOf(id)).toBe(300);
    expectStatus(await reply('bob', id), 201);
    const refused = await reply('bob', id);
    expect(refused.status).toBe(429);
    expect(refused.body.error).toMatch(/^This discussion is in slow mode: wait \d+ s before your next reply$/);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(290);
    expectStatus(await reply('ada', id), 201);
    expectStatus(await reply('mia', id), 201);
    expectStatus(await reply('mia', id), 201);
    const elsewhere = await forum.start('ada', 'Something else');
    expectStatus(await reply('bob', elsewhere.id), 201);
    expectStatus(await reply('bob', elsewhere.id), 201);
  });

  test('takes replies at any rate again once slow mode is off', async () => {
    const { id } = await forum.start('ada', 'Quick again');
    await slow('mia', id, 3_600);
    await reply('bob', id);
    expectStatus(await slow('mia', id, 0), 200);
    expect((await reply('bob', id)).status).toBe(201);
    expect((await reply('bob', id)).status).toBe(201);
  });

  test('shows it at the top, and returns the form of a reply that is too early', async () => {
    const { id, number } = await forum.start('ada', 'In the heat');
    const sent = await forum.as.mia.submit(`/d/${number}/edit`, { title: 'In the heat', slow_mode_seconds: '900' });
    expect(sent.status).toBe(303);
    expect(await pauseOf(id)).toBe(900);
    expect((await forum.guest.get(`/d/${number}-in-the-heat`)).text).toContain('15 minutes');
    expect((await forum.as.mia.get(`/d/${number}/edit`)).text).toContain('<option value="900" selected>');
    expect((await forum.as.ada.get(`/d/${number}/edit`)).text).not.toContain('name="slow_mode_seconds"');
    await forum.as.bob.submit(`/d/${number}/reply`, { content: 'First' });
    const early = await forum.as.bob.submit(`/d/${number}/reply`, { content: 'Second, in a hurry' });
    expect(early.status).toBe(429);
    expect(early.text).toContain('Second, in a hurry');
    expect(early.text).toContain('slow mode');
  });

  test('is set by moderators only, to one of a few intervals', async () => {
    const { id } = await forum.start('ada', 'Chosen by few');
    expect((await slow('ada', id, 60)).status).toBe(403);
    expect((await slow('mia', id, 61)).status).toBe(400);
    expect((await slow('mia', id, -1)).status).toBe(400);
    expect(await pauseOf(id)).toBe(0);
    const body = { title: 'Slow from the start', content: 'x', category_id: 'general', slow_mode_seconds: 60 };
    expect((await forum.as.ada.post('/api/discussions', body)).status).toBe(403);
    expect((await forum.as.mia.post('/api/discussions', body)).status).toBe(201);
  });
});
