import type { Locator, Page, Route } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { defined, listen, movesSideways, pass } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const TEXT = 'A long letter about a small boat.';

/** Drafts of earlier tests would be restored. */
beforeEach(async () => {
  const bob = forum.app.client();
  await bob.login('bob', PASSWORD);
  for (const { key } of (await bob.get('/api/drafts')).body.drafts) await bob.delete(`/api/drafts/${key}`);
});

const text = (page: Page): Locator => page.getByLabel('Your text');
/** The name of the selected category. */
const chosen = (page: Page): Promise<readonly string[]> =>
  page.locator('[name=category_id]:checked + span .choice-label').allTextContents();
async function open(path: string, javaScriptEnabled: boolean): Promise<Page> {
  const page = await forum.open('bob', { javaScriptEnabled });
  await page.goto(path);
  // It would report the ended session before anything is sent.
  if (javaScriptEnabled) await page.evaluate(`document.querySelector('x-live').remove()`);
  return page;
}
async function seen(what: Locator): Promise<boolean> {
  await what.first().waitFor();
  return true;
}
/** Logs in again in a second tab of the same browser. */
async function logInBeside(page: Page, opened?: Page): Promise<void> {
  const tab = opened ?? (await page.context().newPage());
  await logIn(tab, 'bob');
  await tab.close();
}

test.runIf(FULL)('a form is not submitted again while the next page is slow to load', async () => {
  const page = await open('/d/1/reply', true);
  let [sent, release] = [0, (): void => undefined];
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/d\/1/, async (route) => {
    if (route.request().method() === 'POST') sent++;
    else await held;
    await route.continue();
  });
  await text(page).fill(TEXT);
  await page.evaluate(`{
    const { form } = document.querySelector('x-composer textarea');
    setInterval(() => form.requestSubmit(), 200);
  }`);
  await expect.poll(() => sent).toBe(1);
  await page.waitForTimeout(1_500);
  release();
  await page.locator('.post', { hasText: TEXT }).first().waitFor();
  expect(sent).toBe(1);
  await page.context().close();
});

describe('a session that ends while the user is writing', () => {
  const FORMS = [
    { what: 'a reply', path: '/d/1/reply', send: 'Post reply' },
    ...inFull({ what: 'a discussion', path: '/new?category=general&title=Boats', send: 'Start discussion' }),
  ];
  const dialog = (page: Page): Locator => page.getByRole('dialog', { name: 'Log in' });
  const enter = async (page: Page, password: string): Promise<void> => {
    await dialog(page).getByLabel('Username or e-mail').fill('bob');
    await dialog(page).getByLabel('Password', { exact: true }).fill(password);
    await dialog(page).getByRole('button', { name: 'Log in' }).click();
  };

  test.each(FORMS)(
    'loses nothing of $what with JavaScript: the user logs in by a dialog, and it is sent',
    async ({ path, send }) => {
      const page = await open(path, true);
      const heard = listen(page);
      await text(page).fill(TEXT);
      await forum.endSessions('bob');
      await page.getByRole('button', { name: send }).click();
      expect(await seen(dialog(page).getByText('You are no longer logged in.'))).toBe(true);
      expect(await judge(page)).toEqual([]);
      await enter(page, 'Not-the-one-4711');
      expect(await seen(dialog(page).getByRole('alert'))).toBe(true);
      expect(await text(page).inputValue()).toBe(TEXT);
      await enter(page, PASSWORD);
      expect(await seen(page.locator('.post', { hasText: TEXT }))).toBe(true);
      expect(await page.getByRole('button', { name: 'Account of bob' }).count()).toBe(1);
      expect(heard.filter((line) => !/status of 40[01]/.test(line))).toEqual([]);
      await page.context().close();
    },
  );

  test.runIf(FULL)('is renewed only once, however often Enter is pressed', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).fill(`${TEXT} Impatient.`);
    await forum.endSessions('bob');
    await page.getByRole('button', { name: 'Post reply' }).click();
    let logins = 0;
    page.on(
      'request',
      (request) => (logins += Number(request.method() === 'POST' && request.url().endsWith('/login'))),
    );
    await dialog(page).getByLabel('Username or e-mail').fill('bob');
    await dialog(page).getByLabel('Password', { exact: true }).fill(PASSWORD);
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Enter');
    expect(await seen(page.locator('.post', { hasText: `${TEXT} Impatient.` }))).toBe(true);
    expect(logins).toBe(1);
    await page.context().close();
  });

  test.runIf(FULL)('has no effect if the user has logged in again in another tab', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).fill(`${TEXT} Beside.`);
    await forum.endSessions('bob');
    await logInBeside(page);
    await page.getByRole('button', { name: 'Post reply' }).click();
    expect(await seen(page.locator('.post', { hasText: `${TEXT} Beside.` }))).toBe(true);
    await page.context().close();
  });

  test('does not post as another user who has logged in in another tab', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).fill(`${TEXT} Mine.`);
    await forum.endSessions('bob');
    const tab = await page.context().newPage();
    await logIn(tab, 'ada');
    await tab.close();
    await page.getByRole('button', { name: 'Post reply' }).click();
    expect(await seen(page.getByText('Log in in another tab'))).toBe(true);
    expect(await text(page).inputValue()).toBe(`${TEXT} Mine.`);
    const { body } = await forum.app.client().get('/api/discussions/1/posts?limit=100&order=desc');
    expect(JSON.stringify(body)).not.toContain(`${TEXT} Mine.`);
    await page.context().close();
  });

  test.runIf(FULL)('preserves the text if the dialog is closed or another user logs in', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).fill(`${TEXT} Kept.`);
    await forum.endSessions('bob');
    await page.getByRole('button', { name: 'Post reply' }).click();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect(await seen(page.getByText('Log in in another tab'))).toBe(true);
    expect(await text(page).inputValue()).toBe(`${TEXT} Kept.`);
    await page.getByRole('button', { name: 'Post reply' }).click();
    await dialog(page).getByLabel('Username or e-mail').fill('ada');
    await dialog(page).getByLabel('Password', { exact: true }).fill(PASSWORD);
    await dialog(page).getByRole('button', { name: 'Log in' }).click();
    await dialog(page).waitFor({ state: 'hidden' });
    expect(await text(page).inputValue()).toBe(`${TEXT} Kept.`);
    const { body } = await forum.app.client().get('/api/discussions/1/posts?limit=100&order=desc');
    expect(JSON.stringify(body)).not.toContain(`${TEXT} Kept.`);
    await page.context().close();
  });

  test.each(FORMS)(
    'loses nothing of $what without JavaScript: the form returns with the text until it is sent',
    async ({ path, send }) => {
      const page = await open(path, false);
      await text(page).fill(TEXT);
      await forum.endSessions('bob');
      await page.getByRole('button', { name: send }).click();
      expect(await seen(page.getByRole('alert').getByText('You are no longer logged in.'))).toBe(true);
      expect(await text(page).inputValue()).toBe(TEXT);
      await logInBeside(page);
      await page.getByRole('button', { name: send }).click();
      expect(await seen(page.getByRole('alert').getByText('Nothing is lost: please send it again.'))).toBe(true);
      expect(await text(page).inputValue()).toBe(TEXT);
      await page.getByRole('button', { name: send }).click();
      expect(await seen(page.locator('.post', { hasText: TEXT }))).toBe(true);
      await page.context().close();
    },
  );
});

test.each([320, ...inFull(1280)])(
  'a form returned without JavaScript includes a login form that opens another tab, at %i pixels',
  async (width) => {
    const page = await forum.open('guest', { javaScriptEnabled: false, viewport: { width, height: 800 } });
    await logIn(page, 'bob');
    await page.goto('/d/1/reply');
    await text(page).fill(`${TEXT} At ${width}.`);
    await forum.endSessions('bob');
    await page.getByRole('button', { name: 'Post reply' }).click();
    const login = page.getByRole('region', { name: 'Log in here' });
    await login.getByLabel('Username or e-mail').fill('bob');
    await login.getByLabel('Password').fill(PASSWORD);
    const opened = page.context().waitForEvent('page');
    await login.getByRole('button', { name: 'Log in' }).click();
    const tab = await opened;
    await tab.getByRole('button', { name: 'Account of bob' }).waitFor();
    await tab.close();
    expect(await text(page).inputValue()).toBe(`${TEXT} At ${width}.`);
    for (let times = 0; times < 2; times++) await page.getByRole('button', { name: 'Post reply' }).click();
    expect(await seen(page.locator('.post', { hasText: `${TEXT} At ${width}.` }))).toBe(true);
    await page.context().close();
  },
);

describe('a form with an invalid token', () => {
  test('is resubmitted automatically with JavaScript', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).fill(`${TEXT} Once.`);
    await page.evaluate(`for (const one of document.querySelectorAll('[name="_csrf"]')) one.value = 'wrong';
      document.querySelector('[name="csrf-token"]').content = 'wrong';`);
    await page.getByRole('button', { name: 'Post reply' }).click();
    expect(await seen(page.locator('.post', { hasText: `${TEXT} Once.` }))).toBe(true);
    await page.context().close();
  });

  test.runIf(FULL)('is shown again with everything entered without JavaScript', async () => {
    const page = await open('/new', false);
    await page.getByLabel('Title').fill('Small boats');
    await page.getByRole('radio', { name: 'General' }).check();
    await text(page).fill(TEXT);
    await page.route(
      '**/new',
      (route) => route.continue({ postData: (route.request().postData() ?? '').replace(/_csrf=[^&]*/, '_csrf=wrong') }),
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await seen(page.getByRole('alert').getByText('Nothing is lost: please send it again.'))).toBe(true);
    expect([await page.getByLabel('Title').inputValue(), await text(page).inputValue()]).toEqual(['Small boats', TEXT]);
    expect(await chosen(page)).toEqual(['General']);
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await seen(page.getByRole('heading', { name: 'Small boats', level: 1 }))).toBe(true);
    await page.context().close();
  });
});

describe.each([
  { how: 'with JavaScript', javaScriptEnabled: true },
  { how: 'without JavaScript', javaScriptEnabled: false },
])('an invalid form, $how', ({ javaScriptEnabled }) => {
  test('shows each error at its field, and preserves the rest', async () => {
    const page = await open('/new?category=general', javaScriptEnabled);
    const heard = javaScriptEnabled ? listen(page) : [];
    await page.getByLabel('Title').fill('   ');
    await text(page).fill(TEXT);
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await seen(page.getByRole('alert'))).toBe(true);
    expect(await page.getByLabel('Title').getAttribute('aria-invalid')).toBe('true');
    expect(await text(page).inputValue()).toBe(TEXT);
    expect(javaScriptEnabled ? await judge(page) : []).toEqual([]);
    await page.getByLabel('Title').fill(`Corrected ${javaScriptEnabled}`);
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await seen(page.getByRole('heading', { name: `Corrected ${javaScriptEnabled}`, level: 1 }))).toBe(true);
    expect(heard.filter((line) => !line.includes('status of 400'))).toEqual([]);
    await page.context().close();
  });
});

describe('a draft', () => {
  test('is restored to its field, and deleted once it is discarded or sent', async () => {
    const page = await open('/d/1/reply', true);
    await text(page).pressSequentially('Not finished');
    expect(await seen(page.getByText(/^Saved \d/))).toBe(true);
    await page.goto('/');
    await page.goto('/d/1/reply');
    expect(await seen(page.getByText(/^Your draft from .* is back\./))).toBe(true);
    expect(await text(page).inputValue()).toBe('Not finished');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.reload();
    expect(await text(page).inputValue()).toBe('');
    await page.context().close();
  });
});

test('the last input is preserved when its field is removed from the page', async () => {
  const page = await open('/d/1/reply', true);
  await defined(page, 'x-composer');
  await text(page).fill('Typed at the last moment.');
  const kept = await page.evaluate(`{
    document.querySelector('x-composer').closest('form').remove();
    JSON.stringify(localStorage);
  }`);
  expect(kept).toContain('Typed at the last moment.');
  await page.context().close();
});

describe('a draft of a new discussion', () => {
  const TITLE = 'Which varnish holds';
  async function write(page: Page): Promise<void> {
    await page.locator('.composer-bar').waitFor();
    await page.getByLabel('Title').fill(TITLE);
    await page.getByRole('radio', { name: 'General' }).check();
    await page.getByLabel('Tags').fill('varnish, oak');
    await text(page).fill(TEXT);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'oars.txt', mimeType: 'text/plain', buffer: Buffer.from('Two.') });
    await expect.poll(() => text(page).inputValue()).toContain('/uploads/');
  }
  const inForm = async (page: Page): Promise<readonly unknown[]> => [
    await page.getByLabel('Title').inputValue(),
    await chosen(page),
    await page.getByLabel('Tags').inputValue(),
    await text(page).inputValue(),
  ];
  const FULL = [
    TITLE,
    ['General'],
    'varnish, oak',
    expect.stringMatching(/^A long letter about a small boat\.\n\[oars\.txt\]\(\/uploads\/\S+\)\n$/),
  ];
  const EMPTY = ['', [], '', ''];

  test('restores title, category, tags and files even if the page was left at once, until it is discarded', async () => {
    const page = await open('/new', true);
    await write(page);
    await page.goto('/');
    await page.goBack();
    await page.locator('.composer-bar').waitFor();
    await expect.poll(() => inForm(page)).toEqual(FULL);
    expect(new URL(page.url()).search).toMatch(/^\?draft=[\da-f]{12}$/);
    const removed = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await page.getByRole('button', { name: 'Discard' }).click();
    await removed;
    await page.waitForURL('**/new');
    expect(await inForm(page)).toEqual(EMPTY);
    await page.reload();
    expect(await inForm(page)).toEqual(EMPTY);
    await page.context().close();
  });

  test.runIf(FULL)(
    'stays deleted when discarded, even if its copy reaches the server after the next page',
    async () => {
      const page = await open('/new', true);
      const onTheWay: Route[] = [];
      await page.route(
        '**/api/drafts/new-*',
        async (route) => {
          onTheWay.push(route);
          await route.abort();
        },
        { times: 1 },
      );
      const copied = page.waitForEvent('requestfailed');
      await page.locator('.composer-bar').waitFor();
      await page.getByLabel('Title').fill(TITLE);
      await copied;
      const address = page.url();
      await page.goto('/');
      await page.goto(address);
      expect(await seen(page.getByText(/^Your draft from .* is back\./))).toBe(true);
      expect((await onTheWay[0]!.fetch()).status()).toBe(200);
      const removed = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
      await page.getByRole('button', { name: 'Discard' }).click();
      await removed;
      await page.waitForURL('**/new');
      await page.goto(address);
      await page.locator('.composer-bar').waitFor();
      expect(await page.getByLabel('Title').inputValue()).toBe('');
      await page.context().close();
    },
  );

  test.runIf(FULL)('leaves a form that is opened for another category empty, and is one press away', async () => {
    const page = await open('/new', true);
    const heard = listen(page);
    await page.locator('.composer-bar').waitFor();
    await page.getByLabel('Title').fill(TITLE);
    await text(page).pressSequentially(TEXT);
    await page.goto('/');
    // What is sent on leaving a page may arrive after the request for the next one.
    const bob = forum.app.client();
    await bob.login('bob', PASSWORD);
    const stored = async (): Promise<number> => (await bob.get('/api/drafts')).body.drafts.length;
    await expect.poll(stored).toBe(1);
    await page.goto('/new?category=general');
    await page.locator('.composer-bar').waitFor();
    expect(await seen(page.getByRole('link', { name: 'You have 1 unfinished discussion' }))).toBe(true);
    expect(await inForm(page)).toEqual(['', ['General'], '', '']);
    await text(page).pressSequentially('Another');
    await page.goto('/drafts');
    await expect.poll(stored).toBe(2);
    await page.getByRole('main').getByRole('link', { name: TITLE }).click();
    expect(await seen(page.getByRole('link', { name: 'You have 1 unfinished discussion' }))).toBe(true);
    await expect.poll(() => inForm(page)).toEqual([TITLE, [], '', TEXT]);
    expect(heard).toEqual([]);
    await page.context().close();
  });

  test('comes back with its last letters when the page is loaded again, whatever the server has of it', async () => {
    const page = await open('/new?category=general', true);
    await defined(page, 'x-draft');
    const saved = page.waitForResponse(
      (answer) => answer.request().method() === 'PUT' && answer.url().includes('/api/drafts/'),
    );
    await text(page).pressSequentially('First');
    await (await saved).finished();
    // From here on nothing reaches the server, as when the browser crashes: not even what is sent on leaving.
    await page.context().setOffline(true);
    await text(page).press('Control+End');
    await text(page).pressSequentially(' and last');
    await expect.poll(() => page.evaluate('JSON.stringify(localStorage)')).toContain('First and last');
    const address = page.url();
    await page.goto('about:blank');
    await page.context().setOffline(false);
    await page.goto(address);
    await expect.poll(() => text(page).inputValue()).toBe('First and last');
    expect(await chosen(page)).toEqual(['General']);
    await page.context().close();
  });

  test.runIf(FULL)('that the server did not accept is named where a new discussion begins', async () => {
    const page = await open('/new', true);
    await page.locator('.composer-bar').waitFor();
    await page.route('**/api/drafts/**', (route) => route.abort());
    const refused = page.waitForEvent('requestfailed');
    await text(page).fill('Of ash');
    await page.getByLabel('Title').fill('<b>Oars</b>');
    await refused;
    await page.goto('/');
    await page.goto('/new');
    await page.getByRole('link', { name: 'Only on this device: “<b>Oars</b>”' }).click();
    await expect.poll(() => text(page).inputValue()).toBe('Of ash');
    await page.context().close();
  });

  test.runIf(FULL)('outlives the session, is not shown to other users, and is deleted once it is sent', async () => {
    const page = await open('/new', true);
    await write(page);
    const address = page.url();
    await page.goto('/');
    await forum.endSessions('bob');
    await logIn(page, 'ada');
    await page.goto(address);
    await page.locator('.composer-bar').waitFor();
    expect(await inForm(page)).toEqual(EMPTY);
    await page.context().clearCookies();
    await logIn(page, 'bob');
    await page.goto(address);
    await page.locator('.composer-bar').waitFor();
    await expect.poll(() => inForm(page)).toEqual(FULL);
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await seen(page.getByRole('heading', { name: TITLE, level: 1 }))).toBe(true);
    await page.getByRole('link', { name: 'varnish' }).first().waitFor();
    await page.goto(address);
    await page.locator('.composer-bar').waitFor();
    expect(await inForm(page)).toEqual(EMPTY);
    await page.context().close();
  });

  test.runIf(FULL)('is offered but not applied if the server has prefilled the text', async () => {
    const page = await open('/d/1', true);
    await page.getByRole('link', { name: 'More about post 1', exact: true }).click();
    const quote = await page.getByRole('link', { name: 'Quote' }).getAttribute('href');
    await page.goto(quote!);
    await page.locator('.composer-bar').waitFor();
    const quoted = await text(page).inputValue();
    await text(page).press('Control+End');
    await text(page).pressSequentially('Mine');
    await page.goto('/');
    await page.goto(quote!);
    expect(await seen(page.getByText(/^You have a draft from /))).toBe(true);
    expect(await text(page).inputValue()).toBe(quoted);
    await page.getByRole('button', { name: 'Restore it' }).click();
    expect(await text(page).inputValue()).toBe(`${quoted}Mine`);
    await page.context().close();
  });
});

describe('the toolbar buttons', () => {
  test('turn lines into each kind of list, and back', async () => {
    const page = await open('/d/1/reply', true);
    await page.locator('.composer-bar').waitFor();
    const after = async (kind: string, lines: string): Promise<string> => {
      await text(page).fill(lines);
      await text(page).selectText();
      await page.getByRole('button', { name: kind, exact: true }).click();
      return text(page).inputValue();
    };
    expect(await after('List', 'oak\nash')).toBe('- oak\n- ash');
    expect(await after('Numbered list', 'oak\nash\nelm')).toBe('1. oak\n2. ash\n3. elm');
    expect(await after('Numbered list', '1. oak\n2. ash')).toBe('oak\nash');
    expect(await after('Task list', 'oak\nash')).toBe('- [ ] oak\n- [ ] ash');
    expect(await after('Task list', '- [x] oak\n* [X] ash')).toBe('oak\nash');
    expect(await after('List', '* oak\n+ ash')).toBe('oak\nash');
    expect(await after('Numbered list', '1) oak\n2) ash')).toBe('oak\nash');
    await page.context().close();
  });
});

describe('the Enter key in a list', () => {
  test('behaves as in common editors', async () => {
    const page = await open('/d/1/reply', true);
    await page.locator('.composer-bar').waitFor();
    const area = text(page);
    /** The text after pressing these keys, with `|` as the caret; in `there`, `|` is the initial caret. */
    const after = async (there: string, ...keys: string[]): Promise<string> => {
      await area.fill(there.replace('|', ''));
      await page.evaluate(
        `document.querySelector('textarea').setSelectionRange(${there.indexOf('|')}, ${there.indexOf('|')})`,
      );
      for (const key of keys)
        await (/^(Enter|Control\+z)$/.test(key) ? page.keyboard.press(key) : page.keyboard.type(key));
      const at = await page.evaluate<number>(`document.querySelector('textarea').selectionStart`);
      const value = await area.inputValue();
      return `${value.slice(0, at)}|${value.slice(at)}`;
    };
    expect({
      'the next item': await after('- oak|', 'Enter', 'ash'),
      'an item in the middle': await after('- oak| and ash\n- elm', 'Enter'),
      'before the words of an item': await after('- |oak', 'Enter'),
      'the end of a list': await after('- oak|', 'Enter', 'Enter', 'Words'),
      'the end of a list before another paragraph': await after('1. oak\n2. |\n\nElm', 'Enter', 'Words'),
      'an empty item that is all there is': await after('- |', 'Enter'),
      numbers: await after('1. oak|\n2. elm\n   red\n3. fir\n\n4. new', 'Enter', 'ash'),
      'brackets after numbers': await after('9) oak|', 'Enter'),
      'a task': await after('- [x] oak|', 'Enter', 'ash', 'Enter', 'Enter'),
      'a quotation': await after('> oak|', 'Enter', 'ash', 'Enter', 'Enter', 'Words'),
      'a list in a quotation': await after('> - oak|', 'Enter', 'Enter', 'Words'),
      'a quotation in a quotation': await after('> > oak|', 'Enter', 'Enter', 'Words'),
      'the end of an inner list': await after('1. oak\n   - red|', 'Enter', 'Enter', 'ash', 'Enter', 'Enter', 'Words'),
      'no list': await after('oak|', 'Enter'),
      'inside code': await after('```\n- oak|', 'Enter'),
      'inside code with a fence': await after('````\n```\n~~~\n- oak|', 'Enter'),
      'inside code of an item': await after('- ```\n  - oak|', 'Enter'),
      'behind code': await after('```\n- oak\n````\n- ash|', 'Enter'),
      'a line across': await after('- - -|', 'Enter'),
      undone: await after('- oak|', 'Enter', 'Enter', 'Control+z', 'Control+z'),
    }).toEqual({
      'the next item': '- oak\n- ash|',
      'an item in the middle': '- oak\n- |and ash\n- elm',
      'before the words of an item': '- \n- |oak',
      'the end of a list': '- oak\n\nWords|',
      'the end of a list before another paragraph': '1. oak\n\nWords|\n\nElm',
      'an empty item that is all there is': '|',
      numbers: '1. oak\n2. ash|\n3. elm\n   red\n4. fir\n\n4. new',
      'brackets after numbers': '9) oak\n10) |',
      'a task': '- [x] oak\n- [ ] ash\n\n|',
      'a quotation': '> oak\n> ash\n\nWords|',
      'a list in a quotation': '> - oak\n>\n> Words|',
      'a quotation in a quotation': '> > oak\n>\n> Words|',
      'the end of an inner list': '1. oak\n   - red\n2. ash\n\nWords|',
      'no list': 'oak\n|',
      'inside code': '```\n- oak\n|',
      'inside code with a fence': '````\n```\n~~~\n- oak\n|',
      'inside code of an item': '- ```\n  - oak\n|',
      'behind code': '```\n- oak\n````\n- ash\n- |',
      'a line across': '- - -\n|',
      undone: '- oak|',
    });
    await page.context().close();
  });
});

describe('the keys of the field', () => {
  test('quote, indent and outdent lines, can be undone, and leave those of the browser alone', async () => {
    const page = await open('/d/1/reply', true);
    await defined(page, 'x-composer');
    const area = text(page);
    /** The text after pressing these keys on the lines between two `|`. */
    const after = async (there: string, ...keys: string[]): Promise<string> => {
      const [from, to] = [there.indexOf('|'), there.lastIndexOf('|') - 1];
      await area.fill(there.replaceAll('|', ''));
      await page.evaluate(`document.querySelector('textarea').setSelectionRange(${from}, ${Math.max(from, to)})`);
      for (const key of keys) await page.keyboard.press(key);
      const [start, end] = await page.evaluate<[number, number]>(
        `(({ selectionStart, selectionEnd }) => [selectionStart, selectionEnd])(document.querySelector('textarea'))`,
      );
      const value = await area.inputValue();
      return `${value.slice(0, start)}|${value.slice(start, end)}|${value.slice(end)}`;
    };
    expect({
      quote: await area
        .fill('oak')
        .then(() => area.press('Control+Shift+Period'))
        .then(() => area.inputValue()),
      item: await after('- oak\n- |red|', 'Control+]'),
      numbered: await after('1. oak\n2. |red|', 'Control+]'),
      'beside an inner item': await after('- oak\n  - red\n- |white|', 'Control+]'),
      lines: await after('|oak\nash|\nelm', 'Control+]'),
      out: await after('1. oak\n   2. |red|', 'Control+['),
      'out of nothing': await after('|oak|', 'Control+['),
      undone: await after('- oak\n- |red|', 'Control+]', 'Control+z'),
      'with Shift': await after('|oak|', 'Control+Shift+b'),
    }).toEqual({
      quote: '> oak',
      item: '- oak\n  - |red|',
      numbered: '1. oak\n   2. |red|',
      'beside an inner item': '- oak\n  - red\n  - |white|',
      lines: '  |oak\n  ash|\nelm',
      out: '1. oak\n2. |red|',
      'out of nothing': '|oak|',
      undone: '- oak\n|- red|',
      'with Shift': '|oak|',
    });
    const shortcut = (name: string) =>
      page.getByRole('button', { name, exact: true }).getAttribute('aria-keyshortcuts');
    expect(await Promise.all(['Quote', 'Post reply'].map(shortcut))).toEqual([
      'Control+Shift+. Meta+Shift+.',
      'Control+Enter Meta+Enter',
    ]);
    await page.context().close();
  });
});

describe('on a phone', () => {
  test('the toolbar is one row at the foot of the window while a long text is written', async () => {
    const page = await forum.open('bob', { viewport: { width: 320, height: 420 } });
    await page.goto('/d/1/reply');
    await defined(page, 'x-composer');
    await text(page).fill(Array.from({ length: 60 }, (_none, line) => `Line ${line}`).join('\n'));
    await page.evaluate(`document.querySelector('textarea').setSelectionRange(0, 0)`);
    await text(page).press('ArrowDown');
    const bar = (await page.locator('.composer-bar').boundingBox())!;
    expect(bar.height).toBeLessThan(56);
    await expect
      .poll(async () => {
        const { y, height } = (await page.locator('.composer-bar').boundingBox())!;
        return y + height <= 420 && y > 0;
      })
      .toBe(true);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    // The last tool is reached by the arrow keys.
    await page.locator('.composer-bar button').first().focus();
    await page.keyboard.press('ArrowLeft');
    const last = (await page.locator('.composer-bar button:focus').boundingBox())!;
    expect(last.x >= 0 && last.x + last.width <= 320).toBe(true);
    await page.context().close();
  });
});

describe('a menu', () => {
  test.each([320, ...inFull(1280)])(
    'is within the viewport, accessible and closed by Escape at %i pixels',
    async (width) => {
      const page = await forum.open('mia', { viewport: { width, height: 700 } });
      await page.goto('/d/1');
      await page.evaluate('customElements.whenDefined("x-posts").then(() => true)');
      for (const name of ['Account of mia', 'Discussion menu', 'More about post 1']) {
        const button = page.locator(`[aria-label="${name}"]`);
        await button.focus();
        await page.keyboard.press('Enter');
        const menu = page.locator('.menu:popover-open');
        await menu.waitFor();
        const box = await menu.boundingBox();
        expect(box && box.x >= 0 && box.x + box.width <= width, `${name}: ${JSON.stringify(box)}`).toBe(true);
        expect(await judge(page)).toEqual([]);
        expect(await movesSideways(page)).toBe(false);
        await page.keyboard.press('Escape');
        await menu.waitFor({ state: 'detached' });
        expect(await page.evaluate('document.activeElement.ariaLabel')).toBe(name);
      }
      await page.context().close();
    },
  );

  test.runIf(FULL)('is closed by a second press while its content is still loading', async () => {
    const page = await forum.open('mia');
    await page.goto('/d/1');
    await defined(page, 'x-posts');
    const link = page.getByRole('link', { name: 'More about post 1', exact: true });
    await link.click();
    await page.locator('.menu:popover-open').waitFor();
    await page.route('**/menu', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      await route.continue();
    });
    const answered = page.waitForResponse('**/menu');
    await link.click();
    await (await answered).finished();
    await pass(page, 200);
    expect(await page.locator('.menu:popover-open').count()).toBe(0);
    await page.context().close();
  });
});
