import { beforeAll, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();
/** Titles on the page of related discussions. */
const related = async (number: number, client = forum.guest): Promise<readonly string[]> => {
  const { text } = expectStatus(await client.get(`/d/${number}/related`), 200);
  const [, list = ''] = /<ul class="related-list"[^>]*>([\s\S]*?)<\/ul>/.exec(text) ?? [];
  const titles = [...list.matchAll(/dir="auto">([^<]*)</g)].map(([, title]) => title!);
  // Programs get the same.
  const { discussions } = expectStatus(await client.get(`/api/discussions/${number}/related`), 200).body as {
    discussions: readonly { readonly title: string }[];
  };
  expect(discussions.map(({ title }) => title)).toEqual(titles);
  return titles;
};
let pump: { readonly number: number; readonly id: string };

beforeAll(async () => {
  await forum.start('ada', 'A pump for a small bilge', 'Which one?');
  await forum.start('bob', 'It smells of diesel', 'Below the engine, in the bilge, where the pump is.');
  await forum.start('bob', 'Bread without an oven', 'Steamed in a pot, which runs over');
  await forum.start('mia', 'Bilge pump of the office', 'Not for all', 'staff');
  pump = await forum.start('ada', 'The bilge pump runs for ever', 'Nine seconds, every four minutes');
});

test('related discussions share two words; those that share them in their titles come first', async () => {
  expect(await related(pump.number)).toEqual(['A pump for a small bilge', 'It smells of diesel']);
  expect(expectStatus(await forum.guest.get(`/d/${pump.number}`), 301).headers.get('location')).toBeTruthy();
  const { text } = expectStatus(await forum.guest.get(`/d/${pump.number}-the-bilge-pump-runs-for-ever`), 200);
  expect(text).toContain(`<a href="/d/${pump.number}/related">`);
});

test('related discussions exclude hidden and deleted ones', async () => {
  expect(await related(pump.number, forum.as.mia)).toContain('Bilge pump of the office');
  expect(await related(pump.number, forum.as.bob)).not.toContain('Bilge pump of the office');
  const { number } = await forum.start('bob', 'Pump out the bilge', 'By hand');
  expect(await related(number)).toContain('The bilge pump runs for ever');
  expectStatus(await forum.as.mia.delete(`/api/discussions/${pump.id}`), 200);
  expect(await related(number)).not.toContain('The bilge pump runs for ever');
  expectStatus(await forum.guest.get(`/d/${pump.number}/related`), 404);
});

test('the page says if there are none', async () => {
  const { number } = await forum.start('ada', 'Unique zymurgy', 'Nothing like it');
  expect((await forum.guest.get(`/d/${number}/related`)).text).toContain('No related discussions');
});

test('programs get discussions as other lists have them, and nothing of one that is hidden', async () => {
  const { body } = expectStatus(await forum.guest.get(`/api/discussions/${pump.id}/related`), 404);
  expect(body.success).toBe(false);
  const { id } = await forum.start('ada', 'Bilge pump, once more', 'x');
  const [found] = expectStatus(await forum.guest.get(`/api/discussions/${id}/related`), 200).body.discussions;
  expect(found).toMatchObject({ title: expect.any(String), url: expect.any(String), tags: [] });
  const hidden = await forum.start('mia', 'Bilge pump of mine', 'x', 'staff');
  for (const client of [forum.guest, forum.as.ada])
    expectStatus(await client.get(`/api/discussions/${hidden.id}/related`), 404);
});
