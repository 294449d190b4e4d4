import { beforeAll, describe, expect, test } from 'vitest';
import { expectStatus, PASSWORD, useForum } from '../discussions/forum.ts';

const forum = useForum({ 'pro.enabled': true });
let help: string;
const page = async (): Promise<string> => expectStatus(await forum.as.ada.get('/settings/feeds'), 200).text;

beforeAll(async () => {
  help = (await forum.guest.get('/api/categories/help')).body.category.id;
});

describe('the page of personal feeds', () => {
  test('is for members only, and linked from their settings', async () => {
    expect((await forum.guest.get('/settings/feeds')).headers.get('location')).toBe(
      '/login?return_to=%2Fsettings%2Ffeeds',
    );
    expect((await forum.guest.get('/settings/feeds', { accept: 'application/json' })).status).toBe(401);
    expect((await forum.as.ada.get('/settings/profile')).text).toContain('href="/settings/feeds"');
    expect(await page()).toContain('You have not created any addresses yet.');
    expect(await page()).not.toContain('>Staff<');
  });

  test('creates addresses that are shown once', async () => {
    const made = await forum.as.ada.submit('/settings/feeds', { name: 'My <phone>', 'category_ids[]': help });
    expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    const text = made.text;
    const [, token = ''] = /http:\/\/forum\.test\/feed\/rss\?token=(feed_[\w-]{43})</.exec(text) ?? [];
    for (const path of ['/feed/rss', '/feed/atom', '/feed/json']) {
      expect(text).toContain(`http://forum.test${path}?token=${token}`);
      expect((await forum.guest.get(`${path}?token=${token}`)).status).toBe(200);
    }
    const later = await page();
    expect([later.includes(token), later.includes('My &lt;phone&gt;'), later.includes('>Help<')]).toEqual([
      false,
      true,
      true,
    ]);
    expect(later).toContain('last read');
  });

  test('requires a name, and preserves the selection on errors', async () => {
    const refused = await forum.as.ada.submit('/settings/feeds', { name: ' ', 'category_ids[]': help });
    expect([refused.status, refused.text.includes(`value="${help}" checked`)]).toEqual([400, true]);
  });

  test('requires a CSRF token', async () => {
    const answer = await forum.as.ada.request('POST', '/settings/feeds', { form: { name: 'x' } });
    expect(answer.status).toBe(403);
  });

  test('requires a password confirmation before creating an address', async () => {
    forum.app.clock.advance(900_000);
    const made = await forum.as.ada.submit('/settings/feeds', { name: 'Unasked' });
    expect([made.status, (await page()).includes('Unasked')]).toEqual([403, false]);
    expect(made.text).toContain('action="/login/confirm"');
    await forum.as.ada.login('ada', PASSWORD);
  });

  test('revokes an address', async () => {
    const [, id = ''] = /name="id" value="([^"]+)"/.exec(await page()) ?? [];
    const answer = await forum.as.ada.submit('/settings/feeds/revoke', { id });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/feeds']);
    expect(await page()).not.toContain('My &lt;phone&gt;');
  });
});
