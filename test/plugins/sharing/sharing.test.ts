import { expect, test } from 'vitest';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();

const shared = (text: string) => [...text.matchAll(/<x-share[^>]*><a [^>]*href="([^"]+)"/g)].map(([, href]) => href);

test('a discussion has a share link, and each post: in its menu, and for guests at its foot', async () => {
  const { body } = expectStatus(
    await forum.as.ada.post('/api/discussions', { title: 'Tea "now"', content: 'Or not', category_id: 'general' }),
    201,
  );
  const { post } = expectStatus(
    await forum.as.ada.post('/api/posts', { discussion_id: body.discussion.id, content: 'Now' }),
    201,
  ).body as { post: { id: string } };
  const { number } = body.discussion as { number: number };
  const { text } = await forum.guest.get(new URL(body.discussion.url as string).pathname);
  expect(shared(text)).toEqual([`/d/${number}`, `/d/${number}`, `/d/${number}/2#post-2`]);
  expect(text).toContain('aria-label="Share post 2"');
  const own = await forum.as.ada.get(new URL(body.discussion.url as string).pathname);
  expect(shared(own.text)).toEqual([`/d/${number}`]);
  expect(text).toContain('data-title="Tea &quot;now&quot;"');
  const menu = await forum.as.ada.get(`/p/${post.id}/menu`);
  const links = shared(menu.text);
  expect(links).toEqual([`/d/${number}/2#post-2`]);
  expect((await forum.guest.get(links[0]!)).status).toBe(302);
});
