import { expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const JSON_TYPE = { accept: 'application/json' };
interface Area {
  readonly label: string;
  readonly shortcuts: readonly { readonly id: string; readonly keys: string; readonly area: string }[];
}
const shortcutsOf = async (client: Client): Promise<Area['shortcuts']> => {
  const { areas } = (await client.request('GET', '/keyboard', { headers: JSON_TYPE })).body as {
    areas: readonly Area[];
  };
  return areas.flatMap(({ shortcuts }) => shortcuts);
};
/** A visitor's keys by action. */
const keysOf = async (client: Client): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await shortcutsOf(client)).map(({ id, keys }) => [id, keys]));

test('a page lists the shortcuts of all plugins, and for guests only those they can use', async () => {
  const { text } = await forum.as.ada.get('/keyboard');
  for (const words of ['Everywhere', 'In a discussion', '<kbd>g</kbd> <kbd>n</kbd>', 'Bookmark the post', 'Next row'])
    expect(text).toContain(words);
  const guest = await forum.app.client().get('/keyboard');
  expect(guest.text).toContain('Search the forum');
  expect(guest.text).not.toContain('Bookmark the post');
  expect(guest.text).toContain('href="/keyboard"');
  expect(await keysOf(forum.as.ada)).toMatchObject({
    'web.keys': '?',
    'web.next': 'j',
    'search.field': '/',
    'discussions.reply': 'r',
    'discussions.quote': 'q',
    'bookmarks.keep': 'b',
    'reactions.choose': 'x',
    'notifications.list': 'g n',
    'read-marks.next': 'n',
  });
});

test('the page lists the keys of writing fields for those who can write', async () => {
  const { text } = await forum.as.ada.get('/keyboard');
  expect(text).toMatch(/While writing[^]*<kbd>Ctrl<\/kbd> <kbd>Enter<\/kbd>[^]*Post the text/);
  expect(text).toMatch(/<kbd>Ctrl<\/kbd> <kbd>Shift<\/kbd> <kbd>\.<\/kbd><\/dt><dd>Quote</);
  expect((await forum.app.client().get('/keyboard')).text).not.toContain('While writing');
});

test.each([true, false])(
  'default shortcuts are distinct, and none is the prefix of another; in queues: %s',
  async (queues) => {
    const keys = (await shortcutsOf(forum.as.mia))
      .filter(({ area }) => (area === 'queues') === queues)
      .map((one) => one.keys);
    expect(keys).not.toEqual([]);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.filter((one) => keys.some((other) => other.startsWith(`${one} `)))).toEqual([]);
  },
);

test('shortcuts are changed on the device, also by guests, removed, and reset', async () => {
  const guest = forum.app.client();
  const saved = await guest.submit('/settings/keyboard', {
    'keys[search.field]': ' s ',
    'keys[web.next]': 'g   l',
    'keys[sharing.share]': '',
  });
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/settings/keyboard']);
  const changed = await keysOf(guest);
  expect(changed).toMatchObject({ 'search.field': 's', 'web.next': 'g l', 'web.previous': 'k' });
  expect(changed).not.toHaveProperty('sharing.share');
  expect((await guest.get('/settings/keyboard')).text).toContain('name="keys[search.field]" type="text" value="s"');
  expect(await keysOf(forum.app.client())).toMatchObject({ 'search.field': '/', 'sharing.share': 's' });
  expect((await guest.submit('/settings/keyboard', { reset: 'true' })).status).toBe(303);
  expect(await keysOf(guest)).toMatchObject({ 'search.field': '/', 'web.next': 'j', 'sharing.share': 's' });
});

test('an invalid or conflicting shortcut is refused with a message, and the form preserves it', async () => {
  const guest = forum.app.client();
  const refused = async (fields: Readonly<Record<string, string>>): Promise<string> => {
    const answer = await guest.submit('/settings/keyboard', fields);
    expect(answer.status).toBe(400);
    for (const value of Object.values(fields)) expect(answer.text).toContain(`value="${value}"`);
    return answer.text;
  };
  expect(await refused({ 'keys[web.next]': 'Tab' })).toContain('must be one key, or two separated by a space');
  expect(await refused({ 'keys[web.next]': 'k' })).toContain('is already used for “Previous row or post”');
  expect(await refused({ 'keys[web.next]': 'g' })).toContain('conflicts with g h, “Go to the home page”');
  expect(await refused({ 'keys[search.field]': 'j h', 'keys[web.next]': 'j' })).toContain('conflicts with j h');
  expect(await keysOf(guest)).toMatchObject({ 'web.next': 'j' });
  expect((await guest.request('POST', '/settings/keyboard', { form: { reset: 'true' } })).status).toBe(403);
});

test('a key may have one action in queues and another elsewhere, but not two in either', async () => {
  const mia = forum.as.mia;
  expect(await keysOf(mia)).toMatchObject({ 'read-marks.next': 'n', 'moderation.note': 'n' });
  expect((await mia.submit('/settings/keyboard', { 'keys[moderation.note]': 'x' })).status).toBe(303);
  expect(await keysOf(mia)).toMatchObject({ 'reactions.choose': 'x', 'moderation.note': 'x' });
  const refused = await mia.submit('/settings/keyboard', { 'keys[moderation.note]': 'b' });
  expect([refused.status, refused.text.includes('is already used')]).toEqual([400, true]);
  expect((await mia.submit('/settings/keyboard', { reset: 'true' })).status).toBe(303);
});

test('two shortcuts may be swapped, and a forged cookie is harmless', async () => {
  const guest = forum.app.client();
  const swapped = { 'keys[web.next]': 'k', 'keys[web.previous]': 'j' };
  expect((await guest.submit('/settings/keyboard', swapped)).status).toBe(303);
  expect(await keysOf(guest)).toMatchObject({ 'web.next': 'k', 'web.previous': 'j' });
  const { body } = await forum.app.client().request('GET', '/keyboard', {
    headers: { ...JSON_TYPE, cookie: 'keyboard=web.next=<script>&web.home=Tab&nobody.knows=z&search.field=q' },
  });
  const [everywhere, lists] = body.areas as readonly Area[];
  expect(lists!.shortcuts[0]).toMatchObject({ id: 'web.next', keys: 'j' });
  expect(everywhere!.shortcuts.find(({ id }) => id === 'search.field')!.keys).toBe('q');
});

test('custom shortcuts do not change pages, so that these can be shared', async () => {
  const guest = forum.app.client();
  await guest.submit('/settings/keyboard', { 'keys[web.next]': 'z' });
  await guest.get('/settings/keyboard');
  const [own, other] = [await guest.get('/'), await forum.app.client().get('/')];
  const plain = (text: string): string => text.replace(/nonce="[^"]*"|content="[\w-]{43}"|value="[\w-]{43}"/g, '');
  expect(plain(own.text)).toBe(plain(other.text));
});
