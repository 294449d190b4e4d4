import { existsSync } from 'node:fs';
import type { BrowserContext, Page, Worker } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { windowedPath } from '../../config/tools/suites.ts';
import { defined, listen, movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

// Chromium without any window has no notifications.
const executablePath = windowedPath(process.env);
const windowed = existsSync(executablePath);
const forum = useForum(windowed ? { launch: { executablePath } } : {});
const SETTINGS = '/settings/notifications';
const panel = (page: Page) => page.getByRole('region', { name: 'Push on this device' });

/** Stands for the push service of the browser, which this one does not have: keeps one subscription. */
const SUBSCRIPTIONS = `{
  const kept = () => JSON.parse(localStorage.getItem('subscription') ?? 'null');
  const subscription = (own) => own && {
    ...own,
    toJSON: () => own,
    unsubscribe: async () => (localStorage.removeItem('subscription'), true),
  };
  PushManager.prototype.getSubscription = async () => subscription(kept());
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || !/^[\\w-]{87}$/.test(applicationServerKey)) throw new TypeError('no such subscription');
    const { publicKey } = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits']);
    const bytes = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey));
    const p256dh = bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
    const endpoint = 'https://push.example.org/send/' + crypto.randomUUID();
    localStorage.setItem('subscription', JSON.stringify({ endpoint, keys: { p256dh, auth: 'A'.repeat(22) } }));
    return subscription(kept());
  };
}`;

/** The settings of a member in a new browser, which allows notifications if it is asked. */
async function openSettings(allowed: boolean, options: Parameters<typeof forum.open>[1] = {}): Promise<Page> {
  const page = await forum.open('bob', options);
  await page.context().grantPermissions(allowed ? ['notifications'] : [], { origin: forum.url });
  await page.addInitScript(SUBSCRIPTIONS);
  await page.goto(SETTINGS);
  await panel(page).scrollIntoViewIfNeeded();
  return page;
}
async function turnOn(page: Page): Promise<Worker> {
  await panel(page).getByRole('button', { name: 'Turn on' }).click();
  await panel(page).getByText('Push is on in this browser.').waitFor();
  const [worker] = page.context().serviceWorkers();
  return worker ?? page.context().waitForEvent('serviceworker');
}
const registrations = (page: Page): Promise<number> =>
  page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)');
const shown = (worker: Worker): Promise<readonly unknown[]> =>
  worker.evaluate(`registration.getNotifications().then((all) =>
    all.map(({ title, body, tag, lang, data }) => ({ title, body, tag, lang, data })))`);

/** Delivers messages to the worker of a browser, as its push service would. */
async function pushTo(context: BrowserContext, page: Page): Promise<(message: object) => Promise<void>> {
  const tools = await context.newCDPSession(page);
  const { promise, resolve } = Promise.withResolvers<string>();
  tools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [registration] }) => {
    if (registration) resolve(registration.registrationId);
  });
  await tools.send('ServiceWorker.enable');
  const registrationId = await promise;
  return async (message) => {
    const data = JSON.stringify(message);
    await tools.send('ServiceWorker.deliverPushMessage', { origin: forum.url, registrationId, data });
  };
}

const SHOWN = { title: 'The Slipway', body: 'ada mentioned you in Oars', tag: 'one', lang: 'en' };
const MESSAGE = { ...SHOWN, url: '/d/1' };

afterEach(async () => {
  await Promise.all(forum.browser.contexts().map((context) => context.close()));
});

describe.skipIf(!windowed)('the panel', () => {
  test('switches push on and off for this browser, and lists it meanwhile', async () => {
    const page = await openSettings(true, { viewport: { width: 320, height: 800 } });
    const heard = listen(page);
    await defined(page, 'x-push');
    await panel(page).getByText('Push is off in this browser.').waitFor();
    expect(await registrations(page)).toBe(0);
    await turnOn(page);
    await panel(page).getByText('Chrome on Linux').first().waitFor();
    expect(await registrations(page)).toBe(1);
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await page.reload();
    await panel(page).getByText('Push is on in this browser.').waitFor();
    await panel(page).getByRole('button', { name: 'Turn off' }).click();
    await panel(page).getByText('Push is off in this browser.').waitFor();
    await panel(page).getByText('Chrome on Linux').first().waitFor({ state: 'hidden' });
    expect(await registrations(page)).toBe(0);
    expect(heard).toEqual([]);
  });

  test('says that the member blocked notifications, and asks for nothing by itself', async () => {
    const page = await openSettings(false);
    await defined(page, 'x-push');
    await panel(page).getByText('You have blocked notifications of this site').waitFor();
    expect(await panel(page).getByRole('button', { name: 'Turn on' }).count()).toBe(0);
    expect(await registrations(page)).toBe(0);
  });

  test.runIf(FULL)('says that the browser cannot receive messages', async () => {
    const page = await forum.open('bob');
    await page.addInitScript('delete window.PushManager');
    await page.goto(SETTINGS);
    await panel(page).scrollIntoViewIfNeeded();
    await panel(page).getByText('This browser cannot receive push notifications.').waitFor();
    expect(await panel(page).getByRole('button', { name: 'Turn on' }).count()).toBe(0);
  });

  test.runIf(FULL)('removes devices without JavaScript', async () => {
    const on = await openSettings(true);
    await turnOn(on);
    const page = await openSettings(false, { javaScriptEnabled: false });
    expect(await page.locator('x-push').innerText()).toContain('enable JavaScript');
    expect(await panel(page).getByRole('button', { name: 'Turn on' }).count()).toBe(0);
    await panel(page).getByRole('button', { name: 'Remove' }).first().click();
    await page.getByText('This device no longer receives notifications.').waitFor();
  });
});

describe.skipIf(!windowed)('the worker', () => {
  test('shows a message, replaces it by the next one about the same thing, and opens its page', async () => {
    const page = await openSettings(true);
    const worker = await turnOn(page);
    const push = await pushTo(page.context(), page);
    // Repeated, because the worker sees a page that was left for a moment longer.
    const pushed = async (): Promise<unknown> => {
      await push(MESSAGE);
      return shown(worker);
    };
    await page.goto('about:blank');
    await expect.poll(pushed).toEqual([{ ...SHOWN, data: '/d/1' }]);
    await push({ ...MESSAGE, body: 'mia and ada mentioned you in Oars' });
    await expect.poll(() => shown(worker)).toMatchObject([{ body: 'mia and ada mentioned you in Oars' }]);
    // Only a real click lets a worker open windows, so the addresses are collected.
    const press = async (data: string): Promise<unknown> =>
      worker.evaluate(`(async () => {
        const opened = [];
        clients.openWindow = async (url) => void opened.push(url);
        const [notification] = await registration.getNotifications();
        const event = new NotificationEvent('notificationclick', { notification });
        Object.defineProperty(event, 'notification', { value: { close: () => notification.close(), data: ${JSON.stringify(data)} } });
        dispatchEvent(event);
        for (let turn = 0; turn < 100 && opened.length === 0; turn++) await new Promise((done) => setTimeout(done, 20));
        return opened;
      })()`);
    expect(await press('/d/1')).toEqual([`${forum.url}/d/1`]);
    await expect.poll(() => shown(worker)).toEqual([]);
    await page.goto('/d/1');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.goto('about:blank');
    await expect.poll(pushed).toHaveLength(1);
    expect(await press('https://elsewhere.example/')).toEqual([`${forum.url}/notifications`]);
  });

  test.runIf(FULL)('shows nothing while the member looks at the forum', async () => {
    const page = await openSettings(true);
    const worker = await turnOn(page);
    const push = await pushTo(page.context(), page);
    await page.bringToFront();
    expect(await page.evaluate('document.hasFocus() && document.visibilityState')).toBe('visible');
    await push(MESSAGE);
    await page.goto('about:blank');
    await push({ ...MESSAGE, tag: 'two' });
    await expect.poll(() => shown(worker)).toMatchObject([{ tag: 'two' }]);
  });

  test('shows the offline page for a page without a connection, and leaves everything else alone', async () => {
    const page = await openSettings(true);
    await turnOn(page);
    await page.goto('/');
    await page.context().setOffline(true);
    await page.goto('/d/1');
    await page.getByRole('heading', { name: 'You are offline' }).waitFor();
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await page.context().setOffline(false);
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.waitForURL(/\/d\/1-/);
    await page.locator('article').first().waitFor();
    const heard = listen(page);
    await page.goto(SETTINGS);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').first().waitFor();
    await page.goBack();
    await page.goBack();
    await page.locator('article').first().waitFor();
    expect(heard).toEqual([]);
  });

  test('removes itself when the plugin is switched off', async () => {
    const page = await openSettings(true);
    await turnOn(page);
    await forum.app.app.plugins.disable('push');
    try {
      await page.goto('/');
      await expect.poll(() => registrations(page)).toBe(0);
    } finally {
      await forum.app.app.plugins.enable('push');
    }
  });
});
