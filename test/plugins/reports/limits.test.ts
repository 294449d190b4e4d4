import { expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'reports.rate_limit': 2 });

test('reports are rate-limited per hour, and repeated reports do not count', async () => {
  const posts: string[] = [];
  for (let count = 0; count < 3; count++) posts.push((await forum.start('ada', `Post ${count}`)).postId);
  const send = async (post: string) => forum.as.bob.post('/api/reports', { post_id: post, reason: 'spam' });
  for (const post of [posts[0]!, posts[0]!, posts[0]!, posts[1]!]) expect((await send(post)).status).toBe(201);
  const refused = await send(posts[2]!);
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await send(posts[1]!)).status).toBe(201);
});
