import { expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const DAY = 86_400_000;
const PLUGIN = 'first-steps';

/** The number of SQL statements for a request by ada when everything but this page is cached. */
async function statementsOf(path: string): Promise<number> {
  await forum.as.ada.get('/');
  return forum.app.statements(() => forum.as.ada.get(path));
}

/** The steps shown on the front page, with a check mark before completed ones. */
async function steps(name: Name | 'guest'): Promise<readonly string[]> {
  const { text } = expectStatus(await (name === 'guest' ? forum.guest : forum.as[name]).get('/'), 200);
  const panel = /<section class="panel first-steps"[^]*?<\/section>/.exec(text)?.[0] ?? '';
  return [...panel.matchAll(/<li>([^]*?)<\/li>/g)].map(([, step = '']) => {
    const words = /<(?:s|a [^>]*)>([^<]*)</.exec(step)![1]!;
    return step.includes('<s>') ? `✓ ${words}` : words;
  });
}

test('new members see the first steps, and which of them are done, until all are done', async () => {
  expect(await steps('guest')).toEqual([]);
  expect(await steps('bob')).toEqual([
    'Introduce yourself',
    'Start a discussion, or reply to one',
    'Choose your notifications',
  ]);
  await forum.as.bob.submit('/settings/profile', { bio: 'I mend boats.' });
  expect(await steps('bob')).toContain('✓ Introduce yourself');
  await forum.start('bob', 'Good morning');
  expect(await steps('bob')).toContain('✓ Start a discussion, or reply to one');
  await forum.as.bob.submit('/settings/notifications', { 'channels[mention]': 'site' });
  expect(await steps('bob')).toEqual([]);
});

test('members who hide the steps no longer see them on any device', async () => {
  expect(await steps('mia')).not.toEqual([]);
  expect((await forum.guest.post('/first-steps/hide', {}, { accept: 'application/json' })).status).toBe(401);
  for (let time = 0; time < 2; time++) expect((await forum.as.mia.submit('/first-steps/hide', {})).status).toBe(303);
  expect(await steps('mia')).toEqual([]);
  expect(await steps('ada')).not.toEqual([]);
});

test('the steps disappear after the configured number of days, and then cost no SQL statement', async () => {
  const settings = forum.app.app.service(Settings);
  await settings.set({ 'first-steps.days': 0 });
  expect(await steps('ada')).toEqual([]);
  await settings.set({ 'first-steps.days': 14 });
  expect(await steps('ada')).not.toEqual([]);
  forum.app.clock.advance(15 * DAY);
  // Changing the setting purges pages that are cached for minutes.
  await settings.set({ 'first-steps.days': 15 });
  await forum.as.ada.login('ada', PASSWORD);
  expect(await steps('ada')).toEqual([]);
  const then = await statementsOf('/?sort=newest');
  await forum.app.app.plugins.disable(PLUGIN);
  expect(await statementsOf('/?sort=oldest')).toBe(then);
  expect((await forum.as.ada.submit('/first-steps/hide', {})).status).toBe(404);
  await forum.app.app.plugins.enable(PLUGIN);
});
