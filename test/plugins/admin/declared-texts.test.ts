import { readFileSync } from 'node:fs';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { definePlugin, Type, type Plugin } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Client } from 'parley-forum/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import configuration from '../../../config/forum.ts';
import { loadPlugins } from '../../../core/host/loader.ts';
import { kernelSettings } from '../../../core/plugins/kernel-settings.ts';
import { formModel } from '../../../plugins/web/forms/form-model.ts';
import { Sentences } from '../../../plugins/web/themes/sentences.ts';
import { testLog } from '../../kit/database.ts';
import { startPanel, type PanelForum } from './forum.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** File extensions are the same in every language. */
const SAME = 'uploads.types';

type Schemas = Readonly<Record<string, { readonly 'x-group'?: string }>>;
const shownSettings = (schema: object | undefined): Schemas => {
  const { properties = {} } = (schema ?? {}) as { properties?: Schemas };
  return Object.fromEntries(Object.entries(properties).filter(([, own]) => own['x-group'] !== 'hidden'));
};

/** The texts in a form of these settings, without group titles. */
function saidOf(settings: Schemas): readonly string[] {
  const said: string[] = [];
  const declared = (text: string): string => {
    said.push(text);
    return text;
  };
  const form = formModel({ properties: settings }, {}, [], { secretSet: '', problem: '', declared });
  const fields = form.groups.flatMap((group) => group.fields);
  const endings = fields.find(({ name }) => name === `${SAME}[]`)?.['options'] as { label: string }[] | undefined;
  const same = new Set(endings?.map(({ label }) => label));
  const groups = new Set(form.groups.map(({ title }) => title));
  return said.filter((text) => !same.has(text) && !groups.has(text));
}
const groupsOf = (settings: Schemas): readonly string[] =>
  Object.values(settings).flatMap(({ 'x-group': group }) => group ?? []);
const titleOf = (group: string): string => group.charAt(0).toUpperCase() + group.slice(1).replaceAll('-', ' ');

const plugins = await loadPlugins(ROOT, configuration.plugins, testLog);
const settingsOf = ({ id, settings }: Plugin): Schemas => ({
  ...shownSettings(settings),
  // Those of the kernel are translated with the pages, like its error messages.
  ...(id === 'web' && shownSettings(kernelSettings)),
});
const ids = new Set(plugins.map(({ id }) => id));
/** Groups of settings without a plugin of that name; the panel names them. */
const ownGroups = [...new Set(plugins.flatMap((plugin) => groupsOf(settingsOf(plugin))))].filter(
  (group) => !ids.has(group),
);
const declaredBy = (plugin: Plugin): readonly string[] => [
  plugin.name!,
  plugin.description!,
  ...saidOf(settingsOf(plugin)),
  ...(plugin.id === 'admin' ? ownGroups.map(titleOf) : []),
];
const germanOf = (id: string): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(join(ROOT, 'plugins', id, 'locales/declared/de.json'), 'utf8'));

describe('texts that plugins declare', () => {
  it.each(plugins.map((plugin) => [plugin.id, plugin] as const))(
    'are all translated to German, with none left over: %s',
    (id, plugin) => {
      expect(Object.keys(germanOf(id)).toSorted()).toEqual([...new Set(declaredBy(plugin))].toSorted());
    },
  );

  it('are translated by their own plugin, whatever the same text means in others', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'parley-declared-'));
    await mkdir(join(folder.path, 'locales/declared'), { recursive: true });
    await writeFile(join(folder.path, 'locales/declared/de.json'), JSON.stringify({ Normal: 'Gewöhnlich' }));
    const folders = new Map(plugins.map(({ id }) => [id, join(ROOT, 'plugins', id)]));
    const german = new Sentences('declared', { plugins: folders.set('boats', folder.path), themes: [] });
    const texts = plugins.flatMap(({ id }) => Object.entries(germanOf(id)).map(([text, said]) => [id, text, said]));
    expect(texts.map(([id, text]) => [id, text, german.say('de', text!, id)])).toEqual(texts);
    expect(german.say('de', 'Normal', 'subscriptions')).toBe('Nicht folgen');
    expect(german.say('de', 'Normal', 'boats')).toBe('Gewöhnlich');
  });
});

describe('the panel in German', () => {
  const boats = definePlugin({
    id: 'boats',
    name: 'Boats',
    description: 'Boats for everybody.',
    settings: Type.Object({ 'boats.most': Type.Integer({ default: 3, title: 'Boats of a member' }) }),
    setup() {},
  });
  let site: PanelForum;
  let ada: Client;
  beforeAll(async () => {
    site = await startPanel([boats]);
    await site.app.service(Accounts).setLocale(site.accounts.ada.id, { language: 'de' });
    ada = await site.session('ada');
  });
  afterAll(() => site[Symbol.asyncDispose]());
  const page = async (path: string): Promise<string> => (await ada.get(path, { accept: 'text/html' })).text;

  it('translates settings', async () => {
    const text = await page('/admin/settings/security');
    expect(text).toContain('<h1>Sicherheit</h1>');
    expect(text).toContain('Kürzestes Passwort');
    expect(text).toContain('Zeichen, die ein Passwort mindestens haben muss.');
    expect(await page('/admin/settings')).toContain('>Darstellung</a>');
  });

  it('translates plugins, running or not', async () => {
    const description = 'Macht aus dem, was Mitglieder schreiben, sicheres HTML.';
    expect(await page('/admin/plugins')).toContain(description);
    await site.app.plugins.disable('markdown');
    expect(await page('/admin/plugins')).toContain(description);
  });

  it('shows untranslated texts in English', async () => {
    expect(await page('/admin/plugins')).toContain('Boats for everybody.');
    expect(await page('/admin/settings/boats')).toContain('Boats of a member');
  });

  it('answers API clients in English', async () => {
    const { plugins: listed } = (await ada.get('/admin/plugins', { accept: 'application/json' })).body;
    expect(listed).toContainEqual(expect.objectContaining({ id: 'admin', name: 'Admin panel' }));
  });
});
