import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { leastOf } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'search.rate_limit': 15 });

describe('the search page', () => {
  test('has a form, help, and no results before a query is entered', async () => {
    const { text } = expectStatus(await forum.guest.get('/search'), 200);
    expect(text).toContain('name="q"');
    expect(text).toContain('author:ada');
    expect(text).not.toContain('class="card"');
  });

  test('shows results, with tabs for their kinds that keep the query', async () => {
    await forum.start('ada', 'Stern gland', 'It drips on the fathom line');
    await forum.start('ada', 'The pump, the motor and the alternator', 'All on one belt');
    const { text } = expectStatus(await forum.guest.get('/search?q=fathom'), 200);
    expect(text).toContain('<mark>fathom</mark>');
    for (const found of [text, expectStatus(await forum.guest.get('/search?q=fathom&type=posts'), 200).text])
      expect(found).toMatch(/<p class="card-meta"><a class="chip hue-\d+" href="\/c\/general" dir="auto">General<\/a>/);
    expect(text).toContain('href="/search?q=fathom&amp;type=posts"');
    expect(text).toContain('value="fathom"');
    expect(expectStatus(await forum.guest.get('/search?q=ada&type=users'), 200).text).toContain('<mark>ada</mark>');
  });

  test('has its form on the 404 page', async () => {
    const main = (text: string): string => text.slice(text.indexOf('<main'), text.indexOf('</main>'));
    expect(main((await forum.guest.get('/no-such-page')).text)).toMatch(/<form[^>]* action="\/search"[^]*?name="q"/);
    expect(main((await forum.as.ada.get('/admin')).text)).not.toContain('action="/search"');
  });

  test('offers help when there are no results', async () => {
    const { text } = expectStatus(await forum.guest.get('/search?q=unobtainium+author%3Aada'), 200);
    expect(text).toContain('No results');
    expect(text).toContain('href="/search?q=unobtainium"');
  });

  test.each([
    ['two letters swapped', 'pmup', 'pump'],
    ['a wrong letter', 'moter', 'motor'],
    ['a missing letter', 'altenator', 'alternator'],
    [
      'one letter too many, among other words and filters',
      'Alternattor "belt" author:ada',
      'alternator "belt" author:ada',
    ],
  ])('suggests a corrected query: %s', async (_what, typed, meant) => {
    const { text } = expectStatus(await forum.guest.get(`/search?${new URLSearchParams({ q: typed })}`), 200);
    expect(text).toContain('No results');
    const href = `/search?${new URLSearchParams({ q: meant })}`;
    expect(text).toContain(`href="${href}" dir="auto">${meant.replaceAll('"', '&quot;')}</a>`);
  });

  test('suggests members with a similar name', async () => {
    const { text } = expectStatus(await forum.as.bob.get('/search?q=Roto&type=users'), 200);
    expect(text).toContain('href="/search?q=root&amp;type=users"');
  });

  test('looks for similar words only for words of plausible length', async () => {
    const asked = (letters: number): Promise<number> =>
      leastOf(() =>
        forum.app.statements(() => forum.as.root.get(`/search?q=${'abcdefghij'.repeat(26).slice(0, letters)}`)),
      );
    const [word, longer, longest] = [await asked(40), await asked(41), await asked(255)];
    expect(longer).toBeLessThan(word);
    expect(longest).toBe(longer);
  });

  test('suggests nothing that has no results, and no words from hidden categories', async () => {
    await forum.start('mia', 'The mutinous quartermaster', 'Not for all', 'staff');
    const search = (client: typeof forum.guest) => client.get('/search?q=quartermastre');
    expect(expectStatus(await search(forum.as.mia), 200).text).toContain('href="/search?q=quartermaster"');
    expect(expectStatus(await search(forum.as.bob), 200).text).not.toContain('Did you mean');
    expect(expectStatus(await forum.as.bob.get('/search?q=pmup+author%3Amia'), 200).text).not.toContain('Did you mean');
  });

  test('shows an invalid query again, with the reason', async () => {
    const { text } = expectStatus(await forum.guest.get('/search?q=before%3Anever'), 400);
    expect(text).toContain('value="before:never"');
    expect(text).toContain('write it as 2026-01-31');
  });

  test('shows the reason in German to German readers', async () => {
    const ask = (path: string) => forum.guest.get(path, { 'accept-language': 'de' });
    const { text } = expectStatus(await ask('/search?q=before%3Anever'), 400);
    expect(text).toContain('Die Suche hat hinter „before:“ ein Datum, das keines ist; schreib es wie 2026-01-31');
    expect(expectStatus(await ask('/search?page=x'), 400).text).toContain('page: muss eine ganze Zahl sein');
  });

  test('is linked in the header of every page', async () => {
    for (const path of ['/', '/categories']) expect((await forum.guest.get(path)).text).toContain('id="header-search"');
  });

  test('escapes the query', async () => {
    const { text } = await forum.guest.get(`/search?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    expect(text).not.toContain('<script>alert(1)');
  });
});

describe('the search rate limit', () => {
  test('is shared by the page and the API', async () => {
    const ada = forum.as.ada;
    for (let round = 0; round < 15; round++) expectStatus(await ada.get('/api/search?q=x'), 200);
    const refused = expectStatus(await ada.get('/api/search?q=x'), 429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const page = expectStatus(await ada.get('/search?q=x'), 429);
    expect(page.text).toContain('You have searched a lot');
    expectStatus(await ada.get('/api/discussions'), 200);
    expectStatus(await forum.as.mia.get('/search?q=x'), 200);
  });
});

describe('a search that takes too long', () => {
  test('is cancelled with 503 and a specific error', async () => {
    const { data } = forum.app.app;
    // The embedded database cannot be interrupted.
    if (data.embedded) return;
    await data.transaction(async () => {
      await data.all(sql`lock table search_post in access exclusive mode`);
      const answer = expectStatus(await forum.as.root.get('/api/search?q=fathom'), 503);
      expect(answer.body).toMatchObject({ success: false, code: 'search_too_slow' });
      expect(answer.headers.get('retry-after')).toBe('5');
    });
    expectStatus(await forum.as.root.get('/api/search?q=fathom'), 200);
  });
});
