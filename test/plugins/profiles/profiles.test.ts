import { describe, expect, test } from 'vitest';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { confirm, exported, looked, places } from '../privacy/forum.ts';

const forum = useForum();
const FULL = {
  about: 'I **mend** boats.\n\n<script>alert(1)</script> [Ropes](javascript:alert(1)) [Yard](https://yard.example/)',
  place: 'Volda, Norway',
  links: ['https://Yard.example/ada?x=1', 'https://xn--bcher-kva.example/'],
};
const pathOf = (who: Name): string => `/api/users/${forum.ids[who]}/profile`;
const change = (who: Name, body: object, client: Client = forum.as[who]) => client.put(pathOf(who), body);
const profileOf = async (who: Name): Promise<any> => expectStatus(await forum.guest.get(pathOf(who)), 200).body.profile;
const page = async (path: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(path), 200).text;
const tabs = (html: string): readonly string[] => {
  const nav = /<nav class="tabs" aria-label="Activity of [^]*?<\/nav>/.exec(html)?.[0] ?? '';
  return [...nav.matchAll(/<a href="[^"]*"( aria-current="page")?>(\w+)/g)].map(
    ([, current, label]) => `${label}${current ? ' *' : ''}`,
  );
};

describe('a profile', () => {
  test('is empty at first, and public once filled in', async () => {
    const empty = { about: '', about_html: '', place: '', links: [], updated_at: null };
    expect(await profileOf('ada')).toEqual(empty);
    const { body } = expectStatus(await change('ada', FULL), 200);
    expect(body.profile).toEqual({
      ...FULL,
      about_html: expect.stringContaining('<strong>mend</strong>') as string,
      links: ['https://yard.example/ada?x=1', 'https://xn--bcher-kva.example/'],
      updated_at: '2026-01-15T12:00:00.000Z',
    });
    expect(await profileOf('ada')).toEqual(body.profile);
    expect((await forum.guest.get('/api/users/none/profile')).status).toBe(404);
  });

  test('contains no scripts or script links, and its links are nofollow', async () => {
    const text = await page('/u/ada');
    expect(text).toContain('<strong>mend</strong>');
    expect(text).toContain('Volda, Norway');
    expect(text).toContain(
      '<a href="https://yard.example/ada?x=1" rel="nofollow ugc noopener"><bdi dir="ltr">yard.example/ada?x=1</bdi></a>',
    );
    expect(text).toMatch(/<a href="https:\/\/yard.example\/"[^>]*rel="nofollow ugc noopener"/);
    expect(text).not.toMatch(/<script>alert|href="javascript:/);
  });

  test('is updated in part, and cleared by empty values', async () => {
    expectStatus(await change('ada', { place: '' }), 200);
    expect(await profileOf('ada')).toMatchObject({ about: FULL.about, place: '', links: [{}, {}] });
    expectStatus(await change('ada', { about: ' \n ', links: [] }), 200);
    expect(await profileOf('ada')).toMatchObject({ about: '', about_html: '', links: [] });
    expectStatus(await change('ada', FULL), 200);
  });

  test('is also updated by a form in the settings', async () => {
    expect(await page('/settings/profile', forum.as.ada)).toMatch(/action="\/settings\/about"[^]*I \*\*mend\*\* boats/);
    const form = {
      about: 'Two\r\nlines',
      place: '  Ålesund ',
      links: 'https://a.example/\r\n\r\nhttps://b.example/\r\n',
    };
    const saved = await forum.as.ada.submit('/settings/about', form);
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/settings/profile']);
    expect(await profileOf('ada')).toMatchObject({
      about: 'Two\nlines',
      place: 'Ålesund',
      links: ['https://a.example/', 'https://b.example/'],
    });
    expect(await page('/u/ada')).toContain('Ålesund');
  });

  test.each([
    ['a text of more than 2,000 characters', { about: 'x'.repeat(2_001) }, 'about'],
    [
      'a text with a picture',
      { about: 'xxx ![Boat](/uploads/01997c0a-0000-7000-8000-000000000000/boat.png)' },
      'about',
    ],
    ['a place of more than 60 characters', { place: 'x'.repeat(61) }, 'place'],
    ['a place that turns the direction of writing', { place: 'Vol\u202Eda' }, 'place'],
    ['a place of two lines', { place: 'Volda\nNorway' }, 'place'],
    ['six links', { links: Array.from({ length: 6 }, (_, at) => `https://${at}.example/`) }, 'links'],
    ['a link of more than 200 characters', { links: [`https://a.example/${'x'.repeat(200)}`] }, 'links'],
    ['a link that runs a script', { links: ['javascript:alert(1)'] }, 'links'],
    ['a link without encryption', { links: ['http://a.example/'] }, 'links'],
    ['a link with data', { links: ['data:text/html,x'] }, 'links'],
    ['a link with a login', { links: ['https://forum.test@evil.example/'] }, 'links'],
    ['a link to no host', { links: ['https://localhost/'] }, 'links'],
    ['a link that turns the direction of writing', { links: ['https://a.example/\u202Emoc'] }, 'links'],
  ])('may not contain %s', async (_words, body, field) => {
    const before = await profileOf('ada');
    const { status, text } = await change('ada', body);
    expect([status, text]).toEqual([400, expect.stringContaining(`"${field}"`)]);
    const form = Object.fromEntries(Object.entries(body).map(([key, value]) => [key, [value].flat().join('\n')]));
    const refused = await forum.as.ada.submit('/settings/about', { about: 'Kept', ...form });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`id="f-${field}-problem"`);
    expect(refused.text).toMatch('about' in body ? 'xxx' : 'Kept');
    expect(await profileOf('ada')).toEqual(before);
  });

  test('cannot be changed by other members, banned members, guests, or without a CSRF token', async () => {
    expect((await change('ada', { place: 'Mine' }, forum.as.bob)).status).toBe(403);
    expect((await change('ada', { place: 'Mine' }, forum.as.root)).status).toBe(403);
    expect((await change('bad', { place: 'Mine' })).status).toBe(403);
    const guest = forum.app.client();
    await guest.csrf();
    expect((await change('ada', { place: 'Mine' }, guest)).status).toBe(401);
    expect((await guest.submit('/settings/about', { place: 'Mine' })).status).toBe(401);
    expect((await forum.as.ada.submit('/settings/about', { place: 'Mine', _csrf: 'none' })).status).toBe(403);
    expect((await forum.as.ada.put(pathOf('ada'), { place: 'Mine' }, { 'x-csrf-token': 'none' })).status).toBe(403);
    expect(await profileOf('ada')).toMatchObject({ place: 'Ålesund' });
  });
});

describe('the About tab', () => {
  test('comes first when it has content, for its owner as for everyone', async () => {
    expect(tabs(await page('/u/ada'))).toEqual(['About *', 'Discussions', 'Posts', 'Reactions']);
    expect(tabs(await page('/u/ada/posts'))).toEqual(['About', 'Discussions', 'Posts *', 'Reactions']);
    expect(tabs(await page('/u/mia'))).toEqual(['Discussions *', 'Posts', 'Reactions']);
    expect((await forum.guest.get('/u/mia/about')).status).toBe(404);
    expect(tabs(await page('/u/mia', forum.as.mia))).toEqual(['Discussions *', 'Posts', 'Reactions']);
  });

  test('adds no statement when cached', async () => {
    const measure = () => forum.app.statements(() => forum.guest.get(`/u/mia/posts?x=${Math.random()}`));
    const withTab = await leastOf(measure);
    await forum.app.app.plugins.disable('profiles');
    expect(await leastOf(measure)).toBe(withTab);
    expect(tabs(await page('/u/ada'))).toEqual(['Discussions *', 'Posts', 'Reactions']);
    expect((await forum.guest.get('/u/ada/about')).status).toBe(404);
    await forum.app.app.plugins.enable('profiles');
    expect(await profileOf('ada')).toMatchObject({ place: 'Ålesund' });
  });
});

describe('a moderator', () => {
  test('clears the profile of a lower-ranked member, which is recorded', async () => {
    await forum.as.bob.put(`/api/users/${forum.ids.bob}`, { display_name: 'Buy ropes', bio: 'Ropes!' });
    expectStatus(await change('bob', { about: 'Ropes, ropes', links: ['https://ropes.example/'] }), 200);
    expect(await page('/u/bob', forum.as.mia)).toContain('href="/u/bob/clear"');
    for (const client of [forum.guest, forum.as.ada, forum.as.bob])
      expect(await page('/u/bob', client)).not.toContain('/u/bob/clear');
    const question = await page('/u/bob/clear', forum.as.mia);
    expect(question).toContain('Clear the profile of bob?');
    expect(question).toContain('action="/u/bob/clear"');
    const cleared = await forum.as.mia.submit('/u/bob/clear', {});
    expect([cleared.status, cleared.headers.get('location')]).toEqual([303, '/u/bob']);
    expect(await profileOf('bob')).toMatchObject({ about: '', links: [] });
    const { user } = (await forum.guest.get(`/api/users/${forum.ids.bob}`)).body;
    expect(user).toMatchObject({ display_name: null, bio: '' });
    expect(await page('/u/bob')).not.toMatch(/ropes/i);
    await forum.app.calm();
    expect(await page('/admin/audit?action=profile.cleared', forum.as.root)).toMatch(/mia[^]*bob/);
    expect(await page('/u/bob', forum.as.mia)).not.toContain('/u/bob/clear');
  });

  test('clears it through the API, as no one else may, but not that of a higher-ranked member', async () => {
    expectStatus(await change('ada', FULL), 200);
    for (const [client, status] of [
      [forum.as.bob, 403],
      [forum.as.ada, 403],
      [forum.app.client(), 401],
    ] as const) {
      await client.csrf();
      expect((await client.delete(pathOf('ada'))).status).toBe(status);
    }
    expect((await forum.as.mia.delete(pathOf('root'))).status).toBe(403);
    expect((await forum.as.mia.delete(pathOf('mia'))).status).toBe(403);
    expect((await forum.as.mia.submit('/u/root/clear', {})).status).toBe(403);
    expect((await forum.as.mia.submit('/u/ada/clear', { _csrf: 'none' })).status).toBe(403);
    expect(await profileOf('ada')).toMatchObject({ place: FULL.place });
    expectStatus(await forum.as.mia.delete(pathOf('ada')), 200);
    expect(await profileOf('ada')).toMatchObject({ place: '' });
  });
});

test('a change is an event that everyone may receive', async () => {
  expectStatus(await change('ada', { place: 'Volda' }), 200);
  await forum.app.calm();
  const { events } = (await forum.as.root.get('/api/events?event=profile.updated&limit=100')).body;
  expect(events.at(-1)).toMatchObject({ event: 'profile.updated', data: { user: { id: forum.ids.ada } } });
});

test('the profile is part of a member’s data, and is deleted with the account', async () => {
  expectStatus(await change('bob', { about: 'A quokkatext of mine', place: 'Volda' }), 200);
  const files = await exported(forum.app, forum.as.bob);
  expect(JSON.parse(files.get('profile.json') ?? 'null')).toMatchObject({
    about: 'A quokkatext of mine',
    place: 'Volda',
  });
  await confirm(forum.as.bob);
  const left = await forum.as.bob.submit('/settings/privacy/delete', { username: 'bob', mode: 'anonymise' });
  expect(left.status).toBe(303);
  forum.app.clock.advance(31 * 86_400_000);
  await looked(forum.app);
  expect((await forum.guest.get('/u/bob')).status).toBe(404);
  expect(await places(forum.app, 'quokkatext')).toEqual([]);
  expect(await profileOf('bob')).toMatchObject({ about: '', place: '' });
});
