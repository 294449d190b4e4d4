import { expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();

test('all appearance options are on one page, for guests too', async () => {
  const guest = forum.app.client();
  expect((await guest.get('/')).text).toContain('<li><a href="/settings/appearance">Appearance</a></li>');
  const before = await guest.get('/settings/appearance');
  expect([before.status, before.text.match(/ checked/g)?.length, before.text.includes('/settings/security')]).toEqual([
    200,
    6,
    false,
  ]);
  const saved = await guest.submit('/appearance', {
    scheme: 'dark',
    contrast: 'more',
    density: 'compact',
    text: 'larger',
    paging: 'pages',
    return_to: '/settings/appearance',
  });
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/settings/appearance']);
  const { text } = await guest.get('/settings/appearance');
  expect(text).toContain(
    'data-scheme="dark" data-contrast="more" data-density="compact" data-text="larger" data-paging="pages"',
  );
  expect(
    [...text.matchAll(/name="(\w+)" value="(\w+)" checked/g)].map(([, name, value]) => `${name} ${value}`),
  ).toEqual(['scheme dark', 'contrast more', 'density compact', 'text larger', 'keys on', 'paging pages']);
  await guest.submit('/appearance', {
    scheme: 'system',
    contrast: 'system',
    density: 'usual',
    text: 'usual',
    paging: 'auto',
  });
  expect((await guest.get('/settings/appearance')).text).toContain(
    'data-scheme="" data-contrast="" data-density="" data-text="">',
  );
});

test('the appearance page is among the members’ settings', async () => {
  expect((await forum.as.ada.get('/settings/profile')).text).toContain('href="/settings/appearance"');
  expect((await forum.as.ada.get('/settings/appearance')).text).toContain('href="/settings/security"');
});

test('the appearance form requires a CSRF token', async () => {
  expect((await forum.app.client().request('POST', '/appearance', { form: { scheme: 'dark' } })).status).toBe(403);
});
