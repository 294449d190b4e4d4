import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { FULL } from '../kit/full.ts';
import { CLIENT, startIdentityProvider, type IdentityProvider } from '../plugins/single-sign-on/identity-provider.ts';
import { defined, listen, movesSideways } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

/** A free port, as the provider redirects to the configured URL of the forum. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
const port = await freePort();
const baseUrl = `http://localhost:${port}`;
const forum = useForum({ environment: { port, baseUrl, identityProviderHosts: ['127.0.0.1'] } });
let elsewhere: IdentityProvider;

beforeAll(async () => {
  elsewhere = await startIdentityProvider([`${baseUrl}/auth/example/callback`]);
  elsewhere.people.set('tess', { email: 'tess@elsewhere.test', email_verified: true, preferred_username: 'Tess' });
  const root = forum.app.client();
  await root.login('root', PASSWORD);
  const provider = { slug: 'example', name: 'Example', issuer: elsewhere.issuer, trusts_email: true };
  const client = { client_id: CLIENT.id, client_secret: CLIENT.secret };
  const { status } = await root.post(
    '/admin/single-sign-on/save',
    { ...provider, ...client },
    { accept: 'application/json' },
  );
  if (status !== 201) throw new Error(`the provider was not saved: ${status}`);
});
afterAll(() => elsewhere[Symbol.asyncDispose]());

/** Logs in at the provider, whose pages come from its library. */
async function logInThere(page: Page, person: string): Promise<void> {
  await page.waitForURL(/\/interaction\//);
  await page.fill('input[name="login"]', person);
  await page.fill('input[name="password"]', 'any');
  await page.click('button[type="submit"]');
  await page.getByRole('button', { name: 'Continue' }).click();
}
/** The page is accessible and does not overflow. */
async function expectFit(page: Page): Promise<void> {
  expect([page.url(), await judge(page), await movesSideways(page)]).toEqual([page.url(), [], false]);
}

test.runIf(FULL).each([320, 1280])(
  'a member signs up through a provider and views linked accounts, at %i pixels',
  async (width) => {
    const person = `tess-${width}`;
    elsewhere.people.set(person, {
      email: `${person}@elsewhere.test`,
      email_verified: true,
      preferred_username: person,
    });
    const page = await forum.open('guest', { viewport: { width, height: 800 } });
    const complaints = listen(page);
    await page.goto('/login?return_to=%2Fmembers');
    await expectFit(page);
    await page.getByRole('button', { name: 'Log in with Example' }).click();
    await logInThere(page, person);
    await page.getByRole('heading', { name: 'Welcome from Example' }).waitFor();
    await expectFit(page);
    await page.getByRole('main').getByRole('button', { name: 'Sign up' }).click();
    await page.waitForURL(/\/members$/);
    await page.goto('/settings/security/linked-accounts');
    await page.getByText(`${person}@elsewhere.test`).waitFor();
    await expectFit(page);
    await page.getByRole('button', { name: 'Unlink' }).click();
    await page.getByRole('alert').getByText('set a password first').waitFor();
    await page.goto('/settings/security/first-password');
    await expectFit(page);
    await page.goto('/login/confirm');
    await expectFit(page);
    await page.goto('/auth/example/callback');
    await page.getByText('was started in another browser').waitFor();
    await expectFit(page);
    // The provider’s own pages load fonts from elsewhere.
    expect(complaints.filter((complaint) => !/googleapis|NAME_NOT_RESOLVED|status of 40[09]/.test(complaint))).toEqual(
      [],
    );
    await page.context().close();
  },
);

test('administrators can check a provider, at 320 pixels', async () => {
  const page = await forum.open('root', { viewport: { width: 320, height: 800 } });
  await page.goto('/admin/single-sign-on');
  await page.getByRole('link', { name: 'Example' }).click();
  await expectFit(page);
  await page.getByRole('button', { name: 'Check Example' }).click();
  await page.getByText('It knows PKCE with S256').waitFor();
  await expectFit(page);
  await page.context().close();
});

test('a session that ended while writing can be renewed through a provider in another tab', async () => {
  const page = await forum.open('guest');
  await page.goto('/login');
  await page.getByRole('button', { name: 'Log in with Example' }).click();
  await logInThere(page, 'tess');
  await page.getByRole('main').getByRole('button', { name: 'Sign up' }).click();
  await page.getByRole('button', { name: 'Account of Tess' }).waitFor();
  await page.goto('/d/3/reply');
  await defined(page, 'x-composer');
  await page.getByLabel('Your text').fill('Once more from elsewhere');
  const { id } = (await forum.app.app.service(Accounts).findByIdentifier('Tess'))!;
  await forum.app.app.service(Accounts).endSessions(id);
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Log in with Example' }).click();
  const tab = await opened;
  await tab.getByRole('button', { name: 'Account of Tess' }).waitFor();
  await tab.close();
  await page.bringToFront();
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Your text').inputValue()).toBe('Once more from elsewhere');
  await page.getByRole('button', { name: 'Post reply' }).click();
  await page.locator('.post', { hasText: 'Once more from elsewhere' }).waitFor();
  await page.context().close();
});
