import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Settings, Type } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { startPanel, type PanelForum } from './forum.ts';

const boats = definePlugin({
  id: 'boats',
  name: 'Boats',
  settings: Type.Object({
    'boats.name': Type.String({ default: 'Corribee', maxLength: 20, title: 'Name of the boat' }),
    'boats.length': Type.Integer({ default: 6, minimum: 1, maximum: 50, 'x-danger': true }),
    'boats.afloat': Type.Boolean({ default: true }),
    'boats.crew': Type.Array(Type.String(), { default: [] }),
    'boats.rig': Type.Enum(['sloop', 'ketch', 'cat'], { default: 'sloop' }),
    'boats.place': Type.Object({ north: Type.Number(), east: Type.Number() }, { default: { north: 50, east: -5 } }),
    'boats.oven': Type.Array(Type.Enum(['gas', 'spirit']), {
      default: [],
      title: 'Ovens of the crew',
      description: 'Signed for by the cook.',
    }),
    'boats.key': Type.String({ 'x-secret': true, default: '' }),
    'boats.note': Type.String({ default: '', 'x-group': 'hidden' }),
  }),
  setup() {},
});

let forum: PanelForum;
let ada: Client;
beforeAll(async () => {
  forum = await startPanel([boats]);
  ada = await forum.session('ada');
});
afterAll(() => forum[Symbol.asyncDispose]());

const json = { accept: 'application/json' };
const value = (key: string): unknown => forum.app.service(Settings).get(key);
const stored = (key: string): boolean =>
  forum.app
    .service(Settings)
    .list()
    .find((one) => one.key === key)!.stored;
const page = async (): Promise<string> => (await ada.get('/admin/settings/boats')).text;

describe('/admin/settings', () => {
  it('lists every group with its settings', async () => {
    const { text } = await ada.get('/admin/settings');
    expect(text).toContain('<a href="/admin/settings/boats">Boats</a>');
    expect(text).toContain('Name of the boat');
    expect(text).not.toContain('boats.note');
    expect((await ada.get('/admin/settings/nothing')).status).toBe(404);
    expect((await ada.get('/admin/settings/hidden')).status).toBe(404);
  });

  it('finds pages of the panel by words of their names in the viewer’s language', async () => {
    const german = await forum.session('ada', { 'accept-language': 'de' });
    const find = async (client: Client, q: string): Promise<readonly string[]> =>
      [...(await client.get(`/admin/settings?q=${q}`)).text.matchAll(/<li><a class="button" href="([^"]*)"/g)].map(
        ([, href]) => href!,
      );
    expect(await find(ada, 'BACK jobs')).toEqual(['/admin/jobs']);
    expect(await find(german, 'hintergrund')).toEqual(['/admin/jobs']);
    expect(await find(ada, 'hintergrund')).toEqual([]);
  });

  it('finds settings by words of their names, labels, descriptions and groups, and links to their fields', async () => {
    const find = async (q: string): Promise<readonly (string | undefined)[]> =>
      [
        ...(await ada.get(`/admin/settings?q=${encodeURIComponent(q)}`)).text.matchAll(
          /<h2><a href="([^"]*#f-[^"]*)">([^<]*)</g,
        ),
      ].map(([, href, label]) => `${label} ${href}`);
    const name = 'Name of the boat /admin/settings/boats#f-boats.name';
    expect(await find('BOAT  name')).toEqual([name]);
    expect(await find('boats.rig')).toEqual(['Rig /admin/settings/boats#f-boats.rig']);
    expect(await find('signed oven')).toEqual(['Ovens of the crew /admin/settings/boats#f-boats.oven']);
    expect(await find('boats')).toHaveLength(8);
    const { text } = await ada.get('/admin/settings?q=boat+name');
    expect(text).toMatch(/type="search" name="q" value="boat name"/);
    expect(text).toMatch(/<a href="\/admin\/settings\/boats">Boats<\/a> · <code>boats.name<\/code>/);
    // Each of these is the id of a field on the group’s page.
    const own = await page();
    for (const id of ['boats.name', 'boats.rig', 'boats.crew', 'boats.afloat', 'boats.place', 'boats.oven'])
      expect(own).toContain(`id="f-${id}"`);
    const { body } = await ada.get('/admin/settings?q=boats+rig', json);
    expect(body.settings.map(({ key }: { key: string }) => key)).toEqual(['boats.rig']);
    expect((await ada.get('/admin/settings?q=smtp_url')).text).toMatch(/<code>SMTP_URL<\/code>/);
  });

  it('reports when nothing matches, and searches neither hidden settings nor values', async () => {
    for (const q of ['no such thing', 'boats.note', 'Corribee', '<b>']) {
      const { status, text } = await ada.get(`/admin/settings?q=${encodeURIComponent(q)}`);
      expect([status, text.includes('No matching pages or settings')]).toEqual([200, true]);
    }
    expect((await ada.get('/admin/settings?q=%3Cb%3E')).text).toContain('value="&lt;b&gt;"');
    expect((await ada.get('/admin/settings?q=+')).text).toContain('<a href="/admin/settings/boats">Boats</a>');
    expect((await ada.get(`/admin/settings?q=${'x'.repeat(101)}`)).status).toBe(400);
  });

  it('returns values and defaults to API clients, but never a secret', async () => {
    await forum.app.service(Settings).set({ 'boats.key': 'hush-hush' });
    const { body, text } = await ada.get('/admin/settings', json);
    expect(body.settings).toContainEqual({
      key: 'boats.length',
      plugin: 'boats',
      group: 'boats',
      stored: false,
      secret: false,
      value: 6,
      default: 6,
    });
    expect(body.settings).toContainEqual({
      key: 'boats.key',
      plugin: 'boats',
      group: 'boats',
      stored: true,
      secret: true,
    });
    expect(text + (await page())).not.toContain('hush-hush');
  });

  it('shows a field for each type of setting', async () => {
    const text = await page();
    expect(text).toMatch(/name="boats.length" type="number" value="6"[^>]* min="1" max="50"/);
    expect(text).toMatch(/role="switch" name="boats.afloat" value="true" checked/);
    expect(text).toContain('name="boats.crew[]"');
    expect(text).toContain('name="boats.rig"');
    expect(text).toContain('type="password"');
    expect(text).toContain('A wrong value here can lock people out');
  });
});

describe('POST /admin/settings/save', () => {
  it('accepts typed values from API clients, all or none', async () => {
    const answer = await ada.post('/admin/settings/save', { 'boats.length': 7, 'boats.crew': ['mira'] }, json);
    expect(answer.status).toBe(200);
    expect(answer.body.settings.map((one: { key: string; value: unknown }) => [one.key, one.value])).toEqual([
      ['boats.length', 7],
      ['boats.crew', ['mira']],
    ]);
    expect([value('boats.length'), value('boats.crew')]).toEqual([7, ['mira']]);

    const refused = await ada.post('/admin/settings/save', { 'boats.length': 8, 'boats.rig': 'barque' }, json);
    expect([refused.status, refused.body.details[0].field]).toEqual([400, 'boats.rig']);
    expect(value('boats.length')).toBe(7);
    expect((await ada.post('/admin/settings/save', { 'boats.wheels': 4 }, json)).body.details).toEqual([
      { field: 'boats.wheels', message: 'is not a setting of any installed plugin' },
    ]);
    expect((await ada.post('/admin/settings/save', { 'boats.note': 'x' }, json)).status).toBe(400);
  });

  it('accepts forms, whose text values become numbers, booleans, lists and objects', async () => {
    const answer = await ada.submit('/admin/settings/save', {
      _group: 'boats',
      'boats.name': 'Folkboat',
      'boats.length': '9',
      'boats.afloat': 'false',
      'boats.crew[]': 'otto',
      'boats.rig': 'ketch',
      'boats.place': '{"north":60,"east":20}',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/admin/settings/boats']);
    expect(['name', 'length', 'afloat', 'crew', 'rig', 'place'].map((key) => value(`boats.${key}`))).toEqual([
      'Folkboat',
      9,
      false,
      ['otto'],
      'ketch',
      { north: 60, east: 20 },
    ]);
  });

  it('stores only what a form changed', async () => {
    await forum.app.service(Settings).reset(['boats.name', 'boats.length', 'boats.afloat', 'boats.rig']);
    await ada.submit('/admin/settings/save', {
      _group: 'boats',
      'boats.name': 'Snipa',
      'boats.length': '6',
      'boats.afloat': 'true',
      'boats.rig': 'sloop',
    });
    expect(['name', 'length', 'afloat', 'rig'].map((key) => stored(`boats.${key}`))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('keeps a secret when its field is empty, and changes it otherwise', async () => {
    await forum.app.service(Settings).set({ 'boats.key': 'first' });
    await ada.submit('/admin/settings/save', { _group: 'boats', 'boats.key': '' });
    expect(value('boats.key')).toBe('first');
    await ada.submit('/admin/settings/save', { _group: 'boats', 'boats.key': 'second' });
    expect(value('boats.key')).toBe('second');
  });

  it('describes the required format to API clients and, in their language, to people', async () => {
    const message = 'must be a colour such as #1d6f8a';
    const refused = await ada.post('/admin/settings/save', { 'site.accent': 'red' }, json);
    expect([refused.status, refused.body.details]).toEqual([400, [{ field: 'site.accent', message }]]);
    const one = await ada.post('/admin/settings/save', { 'api.cors_origins': ['https://app.example/'] }, json);
    expect(one.body.details).toEqual([
      { field: 'api.cors_origins', message: 'must be an origin such as https://app.example, without a path' },
    ]);
    const form = { _group: 'appearance', 'site.accent': 'red' };
    const german = await forum.session('ada', { 'accept-language': 'de' });
    expect((await ada.submit('/admin/settings/save', form)).text).toContain(message);
    expect((await german.submit('/admin/settings/save', form)).text).toContain('muss eine Farbe wie #1d6f8a sein');
  });

  it('shows a refused form again with the input', async () => {
    for (const [field, typed, message] of [
      ['boats.length', 'long', 'must be integer'],
      ['boats.length', '99', 'must be &lt;'],
      ['boats.place', '{north', 'is not valid JSON'],
    ] as const) {
      const { status, text } = await ada.submit('/admin/settings/save', {
        _group: 'boats',
        'boats.name': 'Typed name',
        [field]: typed,
      });
      expect([status, text.includes(message)], `${field} ${typed}`).toEqual([400, true]);
      expect(text).toContain('value="Typed name"');
    }
    const expired = await ada.submit('/admin/settings/save', {
      _group: 'boats',
      'boats.name': 'Typed name',
      _csrf: 'old',
    });
    expect([expired.status, expired.text.includes('value="Typed name"')]).toEqual([403, true]);
    expect(value('boats.name')).not.toBe('Typed name');
  });

  it('logs who changed which settings, without the values', async () => {
    await ada.post('/admin/settings/save', { 'boats.key': 'very-secret', 'boats.name': 'Logged' }, json);
    const line = forum.lines.findLast(
      (one) => one.message === 'settings were changed' && JSON.stringify(one).includes('boats.key'),
    );
    expect(line).toMatchObject({ username: 'ada', settings: expect.arrayContaining(['boats.key', 'boats.name']) });
    expect(JSON.stringify(forum.lines)).not.toMatch(/very-secret|"Logged"/);
  });
});

describe('POST /admin/settings/reset', () => {
  it('does not mark a stored value as changed if it equals the default', async () => {
    const said = async () => (await page()).split('Changed from the default').length;
    const before = await said();
    await forum.app.service(Settings).set({ 'boats.length': 6, 'boats.place': { north: 50, east: -5 } });
    expect(await said()).toBe(before);
    await forum.app.service(Settings).set({ 'boats.length': 7 });
    expect(await said()).toBe(before + 1);
    await forum.app.service(Settings).set({ 'boats.length': 6 });
  });

  it('restores the default, offered where a value differs from it', async () => {
    await forum.app.service(Settings).set({ 'boats.length': 12 });
    expect(await page()).toMatch(/formaction="\/admin\/settings\/reset"[^>]* name="key" value="boats.length"/);
    const answer = await ada.submit('/admin/settings/reset', { key: 'boats.length' });
    expect([answer.status, answer.headers.get('location'), value('boats.length')]).toEqual([
      303,
      '/admin/settings/boats',
      6,
    ]);
    expect(await page()).not.toContain('value="boats.length"');
    expect((await ada.post('/admin/settings/reset', { key: 'boats.wheels' }, json)).status).toBe(404);
  });
});
