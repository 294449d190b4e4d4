import { describe, expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'presence.public': false, 'presence.rate_limit': 5 });

describe('a forum with a private list of visitors', () => {
  test('shows guests only the numbers', async () => {
    expect((await forum.guest.get('/api/presence/visitors')).status).toBe(401);
    expect((await forum.guest.get('/api/presence/bots')).status).toBe(401);
    expect((await forum.guest.get('/api/presence/members?usernames=ada')).status).toBe(401);
    expect((await forum.guest.get('/api/presence/stats')).status).toBe(200);
    expect((await forum.guest.get('/')).text).not.toContain('<x-online');
    expect((await forum.as.bob.get('/')).text).toContain('<x-online');
    expect((await forum.as.ada.get('/api/presence/visitors')).status).toBe(200);
    await forum.as.ada.get('/');
    expect((await forum.guest.get('/online')).text).not.toContain('/u/ada');
    expect((await forum.as.bob.get('/online')).text).toContain('/u/ada');
  });
});

test('heartbeats have their own rate limit, and do not count towards the general one', async () => {
  const beat = () => forum.as.bob.post('/api/presence/update', { page: '/' });
  for (let count = 0; count < 5; count++) expect((await beat()).status).toBe(200);
  const refused = await beat();
  expect([
    refused.status,
    refused.headers.get('x-ratelimit-limit'),
    refused.headers.get('x-ratelimit-remaining'),
  ]).toEqual([429, '5', '0']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const other = await forum.as.bob.get('/api/version');
  expect([other.status, other.headers.get('x-ratelimit-limit')]).toEqual([200, '100000']);
});

test('an open page does not keep its member’s session alive', async () => {
  for (let minute = 0; minute < 59; minute += 20) {
    forum.app.clock.advance(20 * 60_000);
    await forum.as.mia.post('/api/presence/update', { page: '/' });
  }
  expect((await forum.as.mia.get('/api/users/posts')).status).toBe(401);
});
