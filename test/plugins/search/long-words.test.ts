import { expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum();
/** Milliseconds until such a text is searchable; indexed as one word or one tag, each would take a minute or more. */
const SOON = 10_000;

test.each([
  ['one word of letters and symbols', '*a_b'],
  ['one word of letters and underscores', 'a_ba_'],
  ['unclosed tags', '<a "'],
  ['consecutive unclosed tags', '< <a "'],
])('a text of 60,000 characters that looks like %s is searchable soon', async (_, piece) => {
  const began = performance.now();
  const { id } = await forum.start(
    'ada',
    'A patient lighthouse',
    `A lanternkeeper ${piece.repeat(Math.floor(60_000 / piece.length))}`,
  );
  await forum.settled();
  expect(performance.now() - began).toBeLessThan(SOON);
  expect((await forum.search('lanternkeeper')).map((found) => found.discussion_id)).toContain(id);
});
