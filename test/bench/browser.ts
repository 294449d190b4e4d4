import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { openBrowser } from '../browser/look.ts';
import { MEMBER, type Prepared } from './data.ts';
import { median } from './median.ts';
import type { Result } from './report.ts';

/** Times that each page is opened, by a browser that has nothing of it. */
const TIMES = 5;
/** A phone at the edge of its network: 150 ms there and back, 1.6 Mbit/s, a processor four times as slow. */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
const SLOWER = 4;
const PHONE: BrowserContextOptions = { viewport: { width: 412, height: 900 }, reducedMotion: 'reduce' };
/** Letters typed into the composer. */
const TEXT = 'A few lines about the weather at sea, as one writes them. '.repeat(4).slice(0, 200);

/** What Chromium itself measures of a page; `event` is what web-vitals takes for INP: input to the next frame. */
const OBSERVED = `globalThis.seen = { paint: 0, shift: 0, blocked: 0, event: 0 };
let begun = Infinity;
const observe = (type, note, more = {}) =>
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true, ...more });
observe('largest-contentful-paint', ({ startTime }) => { seen.paint = startTime; });
observe('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) seen.shift += value; });
observe('paint', ({ name, startTime }) => { if (name === 'first-contentful-paint') begun = startTime; });
observe('longtask', ({ startTime, duration }) => { if (startTime + duration > begun) seen.blocked += duration - 50; });
observe('event', ({ duration, interactionId }) => { if (interactionId) seen.event = Math.max(seen.event, duration); }, { durationThreshold: 16 });`;

interface Seen {
  /** Milliseconds to the largest contentful paint. */
  readonly paint: number;
  /** Cumulative layout shift. */
  readonly shift: number;
  /** Milliseconds beyond 50 of tasks that held the page once something was there to press. */
  readonly blocked: number;
  /** Milliseconds of the slowest interaction. */
  readonly event: number;
}
interface Opened extends Seen {
  /** On the way, as they are sent. */
  readonly kilobytes: number;
  readonly requests: number;
  readonly elements: number;
}

const read = (page: Page): Promise<Seen> => page.evaluate('seen');
const settled = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 300)))');

/** A window in which everything is as slow as on such a phone. */
async function openPhone(browser: Browser, options: BrowserContextOptions): Promise<[Page, CDPSession]> {
  const context = await browser.newContext({ ...PHONE, ...options });
  const page = await context.newPage();
  await page.addInitScript(OBSERVED);
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', NETWORK);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  return [page, session];
}

async function openOnce(browser: Browser, url: string, options: BrowserContextOptions): Promise<Opened> {
  const [page, session] = await openPhone(browser, options);
  const sizes: number[] = [];
  session.on('Network.loadingFinished', ({ encodedDataLength }) => void sizes.push(encodedDataLength));
  await page.goto(url, { waitUntil: 'load' });
  await settled(page);
  const elements = await page.evaluate<number>('document.querySelectorAll("*").length');
  const seen = await read(page);
  await page.context().close();
  return { ...seen, elements, requests: sizes.length, kilobytes: sizes.reduce((all, one) => all + one, 0) / 1024 };
}

/** The figures that pages have goals for (the goals of the design for a phone). */
const FIGURES: readonly { readonly key: keyof Opened; readonly what: string; readonly unit: string }[] = [
  { key: 'paint', what: 'largest contentful paint', unit: 'ms' },
  { key: 'shift', what: 'layout shift', unit: '' },
  { key: 'blocked', what: 'blocked', unit: 'ms' },
  { key: 'kilobytes', what: 'first view', unit: 'KiB' },
  { key: 'requests', what: 'requests', unit: '' },
  { key: 'elements', what: 'elements', unit: '' },
];
type Goals = Partial<Record<keyof Opened, number>>;
const HOME: Goals = { paint: 1_500, shift: 0.02, blocked: 50, kilobytes: 70, requests: 12, elements: 1_200 };
const DISCUSSION: Goals = { paint: 1_600, shift: 0.02, blocked: 50, kilobytes: 90, requests: 14, elements: 1_500 };
/** Milliseconds from an input to the next frame. */
const INTERACTION_GOAL = 120;

interface Interaction {
  readonly name: string;
  /** The page, below that of the discussion. */
  readonly path: string;
  act(page: Page): Promise<void>;
}
const INTERACTIONS: readonly Interaction[] = [
  { name: 'opening the menu of a post', path: '', act: (page) => page.locator('#post-1 [data-menu]').click() },
  {
    name: 'choosing a reaction',
    path: '',
    act: (page) => page.getByRole('link', { name: 'React to post 1', exact: true }).click(),
  },
  { name: 'typing 200 letters', path: '/reply', act: (page) => page.locator('textarea').pressSequentially(TEXT) },
];

/** Pages of a guest and a member in Chromium, as on a slow phone. */
export async function measureBrowser(url: string, { short }: Prepared): Promise<readonly Result[]> {
  const browser = await openBrowser();
  try {
    const member = { storageState: await stateOf(browser, url) };
    const results: Result[] = [];
    for (const { what, path, goals } of [
      { what: 'home', path: '/', goals: HOME },
      { what: 'discussion', path: `/d/${short}`, goals: DISCUSSION },
    ]) {
      results.push(...(await opened(browser, `guest: ${what} on a slow phone`, url + path, {}, goals)));
      // What adds to a page for members comes in modules of its own, for which there are no goals.
      const { requests: _requests, ...own } = goals;
      results.push(...(await opened(browser, `member: ${what} on a slow phone`, url + path, member, own)));
    }
    for (const interaction of INTERACTIONS)
      results.push(await slowestEvent(browser, `${url}/d/${short}`, member, interaction));
    return results;
  } finally {
    await browser.close();
  }
}

async function opened(
  browser: Browser,
  name: string,
  url: string,
  options: BrowserContextOptions,
  goals: Goals,
): Promise<readonly Result[]> {
  const times: Opened[] = [];
  for (let time = 0; time < TIMES; time++) times.push(await openOnce(browser, url, options));
  return FIGURES.map(({ key, what, unit }) => ({
    name: `${name}: ${what}`,
    value: median(times.map((one) => one[key])),
    unit,
    ratio: undefined,
    goal: goals[key],
    atMost: true,
  }));
}

async function slowestEvent(
  browser: Browser,
  discussion: string,
  options: BrowserContextOptions,
  { name, path, act }: Interaction,
): Promise<Result> {
  const slowest: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const [page] = await openPhone(browser, options);
    await page.goto(discussion + path, { waitUntil: 'load' });
    await settled(page);
    await act(page);
    await settled(page);
    slowest.push((await read(page)).event);
    await page.context().close();
  }
  return {
    name: `member: ${name} on a slow phone, the slowest event`,
    value: median(slowest),
    unit: 'ms',
    ratio: undefined,
    goal: INTERACTION_GOAL,
    atMost: true,
  };
}

/** The cookies of the bench's member, who logs in through the form. */
async function stateOf(browser: Browser, url: string): Promise<NonNullable<BrowserContextOptions['storageState']>> {
  const page = await browser.newPage();
  await page.goto(`${url}/login`);
  await page.locator('[name="identifier"]').fill(MEMBER.username);
  await page.locator('[name="password"]').fill(MEMBER.password);
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: `Account of ${MEMBER.username}` }).waitFor();
  const state = await page.context().storageState();
  await page.context().close();
  return state;
}
