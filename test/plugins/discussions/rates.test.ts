import { expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum({ 'posts.rate_limit': 3, 'discussions.rate_limit': 2 });

test('a member who posts too much gets 429 with Retry-After, and a moderator may post five times as much', async () => {
  const { id } = await forum.start('ada', 'Busy');
  const reply = (name: 'bob' | 'mia') => forum.as[name].post('/api/posts', { discussion_id: id, content: 'More' });
  for (let count = 0; count < 3; count++) expect((await reply('bob')).status).toBe(201);
  const refused = await reply('bob');
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  for (let count = 0; count < 15; count++) expect((await reply('mia')).status).toBe(201);
  expect((await reply('mia')).status).toBe(429);
});

test('starting discussions has its own rate limit, and requests refused for other reasons do not count', async () => {
  const start = (title: string) =>
    forum.as.bob.post('/api/discussions', { title, content: 'x', category_id: 'general' });
  for (let count = 0; count < 5; count++) expect((await start(' ')).status).toBe(400);
  expect((await start('First')).status).toBe(201);
  expect((await start('Second')).status).toBe(201);
  expect((await start('Third')).status).toBe(429);
});
