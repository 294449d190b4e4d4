import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { useForum } from './forum.ts';

const forum = useForum();
const JSON_ONLY = { accept: 'application/json' };
const page = async (path: string, client: Client = forum.guest): Promise<string> => {
  const answer = await client.get(path);
  if (answer.status !== 200)
    throw new Error(`${path} answered ${answer.status} ${answer.headers.get('location') ?? ''}`);
  return answer.text;
};
const goes = async (path: string, client: Client = forum.guest): Promise<readonly [number, string | null]> => {
  const answer = await client.get(path);
  return [answer.status, answer.headers.get('location')];
};

describe('reading without JavaScript', () => {
  let number: number;

  beforeAll(async () => {
    const { id, number: made } = await forum.start('ada', 'Ropes & <knots>');
    number = made;
    for (let post = 2; post <= 45; post++) await forum.reply('bob', id, `This is post ${post}.`);
    for (let count = 0; count < 21; count++) await forum.start('ada', `Filler ${count}`, 'help');
  });

  test('the front page lists discussions in pages', async () => {
    expect(await page('/')).toContain('rel="next"');
    const second = await page('/?page=2');
    expect(second).toContain('rel="prev"');
    expect(second).toContain('Ropes &amp; &lt;knots&gt;');
    expect((await forum.guest.get('/?page=3')).status).toBe(404);
    expect(await page('/discussions?sort=most_replied')).toMatch(/Ropes &amp; &lt;knots&gt;[\s\S]*Filler/);
  });

  test('the front page asks guests to sign up, until they dismiss that on their device', async () => {
    const guest = forum.app.client();
    const asked = await page('/', guest);
    expect(asked).toContain('Welcome to ');
    expect(asked).toMatch(/There are \d+ discussions so far\./);
    expect(await page('/?page=2', guest)).not.toContain('Welcome to ');
    expect(await page('/', forum.as.ada)).not.toContain('Welcome to ');
    const hidden = await guest.submit('/appearance', { welcome: 'hidden', return_to: '/' });
    expect([hidden.status, hidden.headers.get('location')]).toEqual([303, '/']);
    expect(await page('/', guest)).not.toContain('Welcome to ');
    // Changing another preference on this device does not ask again.
    await guest.submit('/appearance', { scheme: 'dark', return_to: '/' });
    expect(await page('/', guest)).not.toContain('Welcome to ');
    expect(await page('/', forum.app.client())).toContain('Welcome to ');
  });

  test('each category has a page, and one page lists them all', async () => {
    expect(await page('/c/help')).toContain('Filler 20');
    // Its rows need not name the category, not with JavaScript either.
    const { html } = (await forum.guest.get('/api/discussions?category_id=help')).body;
    expect([html, await page('/c/help'), await page('/')].map((text) => text.includes('class="chip'))).toEqual([
      false,
      false,
      true,
    ]);
    expect(await page('/categories')).toMatch(/Announcements[\s\S]*General[\s\S]*Help/);
    expect(await page('/categories')).not.toContain('Staff');
    expect((await forum.guest.get('/c/staff')).status).toBe(404);
  });

  test('the page of a category shows its number of discussions and its feeds below its name', async () => {
    const head = /<header class="page-head[\s\S]*?<\/header>/.exec(await page('/c/help'))![0];
    expect(head).toMatch(/<p class="meta">\d+ discussions? · <a href="\/feed\/rss\/category\/help"/);
  });

  test('the list of categories shows the latest discussion, and who alone may start one', async () => {
    const card = async (slug: string): Promise<string> => {
      const [, ...cards] = (await page('/categories')).split('<article class="category');
      return cards.find((one) => one.includes(`href="/c/${slug}"`))!;
    };
    const first = await forum.start('ada', 'Oars of ash', 'help');
    forum.app.clock.advance(1_000);
    const second = await forum.start('ada', 'Oars of spruce', 'help');
    expect(await card('help')).toContain(`href="/d/${second.number}-oars-of-spruce"`);
    forum.app.clock.advance(1_000);
    await forum.reply('bob', first.id, 'Ash lasts');
    expect(await card('help')).toContain(`href="/d/${first.number}-oars-of-ash"`);
    expect(await card('help')).not.toContain('Oars of spruce');
    await forum.as.ada.delete(`/api/discussions/${first.id}`);
    await forum.as.mia.delete(`/api/discussions/${first.id}?reason=x`);
    expect(await card('help')).toContain('Oars of spruce');
    expect(await card('help')).not.toContain('begin discussions');
    expect(await card('announcements')).toContain('Only staff begin discussions');
  });

  test('an empty category is shown as empty', async () => {
    expect(await page('/c/announcements')).toContain('No discussions in this category yet');
  });

  test('a discussion has one canonical URL', async () => {
    const address = `/d/${number}-ropes-knots`;
    expect(await goes(`/d/${number}`)).toEqual([301, address]);
    expect(await goes(`/d/${number}-else?page=2`)).toEqual([301, `${address}?page=2`]);
    const text = await page(address);
    expect(text).toContain(`<link rel="canonical" href="http://forum.test${address}">`);
    expect(text).toContain('Ropes &amp; &lt;knots&gt;</h1>');
    for (const wrong of ['/d/0', '/d/999', '/d/abc', `/d/${number}x`, `/d/99999999999`])
      expect((await forum.guest.get(wrong)).status).toBe(404);
  });

  test('every post can be opened by its number', async () => {
    const address = `/d/${number}-ropes-knots`;
    expect(await goes(`/d/${number}/3`)).toEqual([302, `${address}#post-3`]);
    expect(await goes(`/d/${number}/41`)).toEqual([302, `${address}?page=3#post-41`]);
    expect(await goes(`/d/${number}/900`)).toEqual([302, `${address}?page=3#post-45`]);
    expect(await page(`${address}?page=3`)).toMatch(/id="post-41"[\s\S]*This is post 45\./);
    expect((await forum.guest.get(`/d/${number}/x`)).status).toBe(404);
    expect((await forum.guest.get(`${address}?page=4`)).status).toBe(404);
  });

  test('a member’s profile shows what they wrote', async () => {
    expect(await page('/u/ada')).toContain('Filler 20');
    expect(await page('/u/bob/posts')).toContain('This is post 45.');
    expect(await page('/u/bob/posts?page=2')).toContain('This is post 25.');
  });
});

describe('writing without JavaScript', () => {
  test('guests are asked to log in, and return afterwards', async () => {
    expect(await goes('/new?category=help')).toEqual([303, '/login?return_to=%2Fnew%3Fcategory%3Dhelp']);
    const { number } = await forum.start('ada', 'For members');
    expect(await page(`/d/${number}-for-members`)).toContain('Log in or sign up to reply.');
  });

  test('a new discussion is previewed, refused with its input, and then started', async () => {
    const form = { title: 'By hand', content: 'Some **text**', category_id: '' };
    expect(await page('/new?category=help', forum.as.ada)).toMatch(
      /<input type="radio" name="category_id" value="[^"]+" checked required><span><span[^>]*>Help</,
    );
    const preview = await forum.as.ada.submit('/new', { ...form, preview: '1' });
    expect(preview.text).toContain('<strong>text</strong>');
    expect(preview.text).toContain('Some **text**</textarea>');
    const refused = await forum.as.ada.submit('/new', form);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Some **text**</textarea>');
    const { category } = (await forum.guest.get('/api/categories/help')).body;
    const made = await forum.as.ada.submit('/new', { ...form, category_id: category.id });
    expect([made.status, made.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/d\/\d+-by-hand$/)]);
    expect(await page(made.headers.get('location')!)).toContain('<strong>text</strong>');
  });

  test('the category is chosen from cards, or from a list if there are more than twelve', async () => {
    const few = await page('/new', forum.as.ada);
    expect([few.includes('choice-cards'), few.includes('<option')]).toEqual([true, false]);
    const made: string[] = [];
    for (let n = 1; n <= 12; n++) {
      const saved = await forum.as.root.post('/admin/categories/save', { name: `Berth ${n}` }, JSON_ONLY);
      made.push(saved.body.category.id);
    }
    const many = await page(`/new?category=${made[0]}`, forum.as.ada);
    expect(many.includes('choice-cards')).toBe(false);
    expect(many).toMatch(new RegExp(`<option value="${made[0]}" selected>Berth 1</option>`));
    for (const id of made) await forum.as.root.post('/admin/categories/delete', { id }, JSON_ONLY);
    expect(await page('/new', forum.as.ada)).toContain('choice-cards');
  });

  test('a post is quoted, answered, edited and deleted', async () => {
    const { number } = await forum.start('ada', 'Journey');
    expect(await page(`/d/${number}/reply?quote=1`, forum.as.bob)).toContain('&gt; About Journey');
    const replied = await forum.as.bob.submit(`/d/${number}/reply`, { content: 'My answer' });
    expect(replied.headers.get('location')).toBe(`/d/${number}/2#post-2`);
    const menus = (await page(`/d/${number}-journey`, forum.as.bob)).matchAll(/href="(\/p\/[^"]+\/menu)"/g);
    const [others = '', own = ''] = [...menus].map(([, path]) => path);
    expect(await page(others, forum.as.bob)).not.toMatch(/\/p\/[^"]+\/edit/);
    const edit = /href="(\/p\/[^"]+\/edit)"/.exec(await page(own, forum.as.bob))![1]!;
    expect(await page(edit, forum.as.bob)).toContain('My answer</textarea>');
    expect((await forum.as.bob.submit(edit, { content: 'My second thought' })).status).toBe(303);
    expect(await page(`/d/${number}-journey`)).toContain('My second thought');
    const remove = edit.replace('/edit', '/delete');
    expect(await page(remove, forum.as.bob)).toContain('Delete this post?');
    expect((await forum.as.bob.submit(remove)).status).toBe(303);
    expect(await page(`/d/${number}-journey`)).not.toContain('My second thought');
    const restore = /action="(\/p\/[^"]+\/restore)"/.exec(await page(`/d/${number}-journey`, forum.as.mia))![1]!;
    expect((await forum.as.mia.submit(restore)).status).toBe(303);
    expect(await page(`/d/${number}-journey`)).toContain('My second thought');
  });

  test('a reply can drop the post that it answers, and keeps its text', async () => {
    const { id, number } = await forum.start('ada', 'Taken back');
    await forum.reply('bob', id, 'Answer me');
    const form = `/d/${number}/reply?to=2`;
    const shown = await page(form, forum.as.mia);
    expect(shown).toContain('Answer me</blockquote>');
    expect(shown).toContain('name="remove"');
    const { status, text } = await forum.as.mia.submit(form, { content: 'To all of you', remove: '1' });
    expect(status).toBe(200);
    expect(text).toContain('To all of you</textarea>');
    expect(text).toContain(`action="/d/${number}/reply"`);
    expect(text).toContain('About Taken back</blockquote>');
    expect(text).not.toContain('name="remove"');
  });

  test('a post that changed meanwhile is overwritten only after a warning', async () => {
    const { postId, number } = await forum.start('ada', 'Two at once');
    const edit = `/p/${postId}/edit`;
    const timeIn = (html: string): string => /name="updated_at" value="([^"]+)"/.exec(html)![1]!;
    const seen = timeIn(await page(edit, forum.as.ada));
    forum.app.clock.advance(1_000);
    expect((await forum.as.mia.put(`/api/posts/${postId}`, { content: 'By mia' })).status).toBe(200);
    const preview = await forum.as.ada.submit(edit, { content: 'By ada', updated_at: seen, preview: '1' });
    expect([preview.status, timeIn(preview.text)]).toEqual([200, seen]);
    const refused = await forum.as.ada.submit(edit, { content: 'By ada', updated_at: seen });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('This post was changed in the meantime.');
    expect(refused.text).toContain('By ada</textarea>');
    const now = timeIn(refused.text);
    expect((await forum.as.ada.submit(edit, { content: 'By ada', updated_at: now })).status).toBe(303);
    expect(await page(`/d/${number}-two-at-once`)).toContain('By ada');
    // Sending the same form again is no conflict.
    expect((await forum.as.ada.submit(edit, { content: 'By ada', updated_at: now })).status).toBe(303);
  });

  test('a script that stays on its page gets the notice in the response, not on the next page', async () => {
    const { postId } = await forum.start('ada', 'Staying');
    const send = async (enhance: string) => {
      const form = { _csrf: await forum.as.ada.csrf('/'), content: `Sent by ${enhance}` };
      return forum.as.ada.request('POST', `/p/${postId}/edit`, { form, headers: { 'x-enhance': enhance } });
    };
    const stays = await send('stay');
    expect([stays.status, stays.text, stays.headers.getSetCookie()]).toEqual([200, 'Saved.', []]);
    const leaves = await send('true');
    expect([leaves.status, leaves.text]).toEqual([204, '']);
    expect(leaves.headers.getSetCookie().join()).toContain('notice=');
    expect(leaves.headers.get('x-location')).toBe(stays.headers.get('x-location'));
    await forum.as.ada.get('/');
  });

  test('a moderator pins, locks, moves, deletes and restores through forms', async () => {
    const { number } = await forum.start('ada', 'Tools');
    const path = `/d/${number}-tools`;
    const act = async (action: string) =>
      expect((await forum.as.mia.submit(`/d/${number}/moderate`, { action })).status).toBe(303);
    await act('pin');
    expect(await page('/c/general')).toMatch(/Pinned[\s\S]*/);
    await act('lock');
    expect(await page(path, forum.as.ada)).toContain('This discussion is locked');
    expect((await forum.as.ada.submit(`/d/${number}/reply`, { content: 'Still here' })).status).toBe(403);
    await act('unlock');
    const { category } = (await forum.guest.get('/api/categories/help')).body;
    await forum.as.mia.submit(`/d/${number}/edit`, { title: 'Tools moved', category_id: category.id });
    expect(await page('/c/help')).toContain('Tools moved');
    expect((await forum.as.mia.submit(`/d/${number}/delete`)).status).toBe(303);
    expect((await forum.guest.get(`/d/${number}-tools-moved`)).status).toBe(404);
    expect(await page(`/d/${number}-tools-moved`, forum.as.mia)).toContain('Only moderators can see it');
    await act('restore');
    expect(await page(`/d/${number}-tools-moved`)).toContain('Tools moved');
    expect((await forum.as.ada.submit(`/d/${number}/moderate`, { action: 'pin' })).status).toBe(403);
  });

  test('footnotes of several posts each lead to their own', async () => {
    const { id, number } = await forum.start('ada', 'Notes');
    const content = 'So[^1] it is[^1].\n\n[^1]: Or not.';
    const posts = [await forum.reply('ada', id, content), await forum.reply('bob', id, content)];
    const text = await page(`/d/${number}-notes`);
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, one]) => one!);
    expect(ids.filter((one) => one.startsWith('fn'))).toHaveLength(6);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { html } of posts) {
      const own = [...String(html).matchAll(/ id="([^"]*)"/g)].map(([, one]) => one!);
      const targets = [...String(html).matchAll(/ href="#([^"]*)"/g)].map(([, one]) => one!);
      expect(new Set(targets)).toEqual(new Set(own));
      for (const one of own) expect(ids).toContain(one);
    }
  });

  test('hostile text is shown as text', async () => {
    const { number } = await forum.start('ada', '"><img src=x onerror=alert(1)>');
    const { headers } = await forum.guest.get(`/d/${number}`);
    const text = await page(headers.get('location')!);
    expect(text).not.toMatch(/<img[^>]*onerror/i);
    expect(await page('/')).not.toMatch(/<img[^>]*onerror/i);
  });
});

describe('page views', () => {
  const viewsOf = async (id: string): Promise<number> =>
    (await forum.guest.get(`/api/discussions/${id}`)).body.discussion.view_count;

  test('count people once in half an hour, and neither bots nor the API', async () => {
    const { id, number } = await forum.start('ada', 'Watched');
    const path = `/d/${number}-watched`;
    const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/150.0' };
    const [one, two, bot] = [
      forum.app.client(browser),
      forum.app.client({ 'user-agent': 'Mozilla/5.0 (Macintosh) Safari/620' }),
      forum.app.client({ 'user-agent': 'Googlebot/2.1' }),
    ];
    for (const visitor of [one, one, two, bot, one, bot]) await page(path, visitor);
    await one.get(`/api/discussions/${id}`);
    await expect.poll(() => viewsOf(id), { timeout: 10_000, interval: 200 }).toBe(2);
    forum.app.clock.advance(31 * 60_000);
    await page(path, one);
    await expect.poll(() => viewsOf(id), { timeout: 10_000, interval: 200 }).toBe(3);
  });

  test('do not invalidate pages, but order the list of the most viewed', async () => {
    const { id, number } = await forum.start('ada', 'Read again');
    const path = `/d/${number}-read-again`;
    const browser = (version: number) =>
      forum.app.client({ 'user-agent': `Mozilla/5.0 (X11; Linux) Firefox/${version}` });
    const most = (): Promise<string> => page('/?sort=most_viewed');
    expect(/href="(\/d\/[^"]+)"/.exec(await most())?.[1]).not.toBe(path);
    for (let version = 1; version <= 6; version++) await page(`${path}?${version}`, browser(version));
    await expect.poll(() => viewsOf(id), { timeout: 10_000, interval: 200 }).toBe(6);
    expect(await forum.app.statements(() => page(`${path}?again`))).toBe(0);
    expect(/href="(\/d\/[^"]+)"/.exec(await most())?.[1]).toBe(path);
  });

  test('are not lost when the plugin stops', async () => {
    const { id, number } = await forum.start('ada', 'Restarted');
    await page(`/d/${number}-restarted`, forum.app.client({ 'user-agent': 'Mozilla/5.0 Firefox/150.0' }));
    await forum.app.app.kernel.restart('discussions');
    expect(await viewsOf(id)).toBe(1);
  });
});
