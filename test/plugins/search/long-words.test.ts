import { expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum();
/** Milliseconds in which such a text can be searched; as one word or as one tag, each takes a minute or more. */
const SOON = 10_000;

test.each([
  ['one word of letters and signs', '*a_b'],
  ['one word of lines below', 'a_ba_'],
  ['tags without an end', '<a "'],
  ['tags without an end, one after the other', '< <a "'],
])('a text of 60,000 characters that could be %s can be searched soon', async (_, piece) => {
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
