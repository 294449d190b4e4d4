import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const ELEMENTS = ['<x-complete-emoji data-trigger=":">', '<x-emoji-picker data-when="x-emoji-picker"><button'];
const read = (file = 'emoji.json'): Record<string, string> =>
  JSON.parse(readFileSync(`plugins/emoji/public/${file}`, 'utf8'));

test('members are offered emoji in editors until the plugin is disabled', async () => {
  const page = async (client = forum.as.ada): Promise<string> => (await client.get('/new')).text;
  const dialog = () => forum.guest.get('/api/emoji/picker');
  for (const element of ELEMENTS) {
    expect(await page()).toContain(element);
    expect(await page(forum.guest)).not.toContain(element);
  }
  expect((await dialog()).status).toBe(200);
  await forum.app.app.plugins.disable('emoji');
  expect(await page()).not.toContain('emoji');
  expect((await dialog()).status).toBe(404);
  await forum.app.app.plugins.enable('emoji');
  for (const element of ELEMENTS) expect(await page()).toContain(element);
});

test('the dialog has a labelled tab for each group, and the skin tones', async () => {
  const { html } = (await forum.guest.get('/api/emoji/picker')).body as { html: string };
  const tabs = [...html.matchAll(/data-group="(.+?)" aria-label="(.+?)"/g)];
  expect(tabs.map(([, group]) => group)).toEqual(['recent', ...Object.keys(read())]);
  expect(tabs.filter(([, , label]) => label!.startsWith('emoji:'))).toEqual([]);
  expect([...html.matchAll(/<option value="(\d)">/g)].map(([, tone]) => tone)).toEqual([...'012345']);
});

test('each emoji has a name, and no name is used twice', () => {
  const lines = Object.values(read()).flatMap((text) => text.split('\n'));
  expect(lines.filter((line) => !/^\P{ASCII}*[*#\d]?\P{ASCII}+\*?(?: [a-z\d_+-]+)+$/u.test(line))).toEqual([]);
  const names = lines.flatMap((line) => line.split(' ').slice(1));
  expect(names.length).toBe(new Set(names).size);
  expect(lines.find((line) => line.includes(' tada'))).toBe('🎉 tada');
});

test('each emoji has a German name', () => {
  const [english, german] = [read(), read('emoji.de.json')];
  expect(Object.keys(german)).toEqual(Object.keys(english));
  for (const [kind, text] of Object.entries(german)) {
    const lines = text.split('\n');
    expect([kind, lines.length]).toEqual([kind, english[kind]!.split('\n').length]);
    expect(lines.filter((line) => !/^[^|]+(?:\|[^|]+)*$/.test(line))).toEqual([]);
  }
  const at = english['activities']!.split('\n').indexOf('🎉 tada');
  expect(german['activities']!.split('\n')[at]).toMatch(/^Konfettibombe/);
});
