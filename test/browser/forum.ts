import type { Browser, BrowserContextOptions, LaunchOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFailed } from 'vitest';
import type { Environment } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Notifications } from 'parley-forum/ports/notifications';
import { startForum, type TestForum } from 'parley-forum/testing';
import { LONG, SHORT, TAGS, TITLES } from './content.ts';
import { LANGUAGE, openBrowser, USER_AGENT } from './look.ts';

export const PASSWORD = 'Plain-Sailing-42';
const GROUPS = { ada: 'member', bob: 'member', mia: 'moderator', root: 'admin' } as const;
export type Person = keyof typeof GROUPS;
export type Visitor = Person | 'guest';

/** A forum with content, opened in a browser. */
export interface Forum {
  readonly app: TestForum;
  readonly browser: Browser;
  /** The forum's URL as opened by browsers. */
  readonly url: string;
  readonly people: Readonly<Record<Person, Account>>;
  /** Opens a page as a logged-in member or as a guest. Must be closed. */
  open(visitor: Visitor, options?: BrowserContextOptions): Promise<Page>;
  /** Ends every session of this member, as a new password does. */
  endSessions(person: Person): Promise<void>;
}

export interface ForumOptions {
  readonly launch?: LaunchOptions;
  readonly environment?: Partial<Environment>;
  /** Folders of packages that run besides the configured plugins. */
  readonly also?: readonly string[];
}

/** The browser shared by all test files of this process: starting one takes longer than many tests. */
let shared: Browser | undefined;
const sharedBrowser = async (): Promise<Browser> => (shared?.isConnected() ? shared : (shared = await openBrowser()));

/** One forum for a test file, with the shared browser, or with a separate one if `launch` is given. */
export function useForum({ launch, also = [], environment = {} }: ForumOptions = {}): Forum {
  const forum = {} as { -readonly [K in keyof Forum]: Forum[K] };
  const states = new Map<Visitor, BrowserContextOptions['storageState']>();
  beforeAll(async () => {
    const app = await startForum({
      also,
      realClock: true,
      environment: { baseUrl: 'http://localhost', ...environment },
      settings: { 'site.name': 'The Slipway', 'pro.enabled': true, 'login.rate_limit': 1_000 },
    });
    Object.assign(forum, {
      app,
      url: app.url.replace('127.0.0.1', 'localhost'),
      people: await fill(app),
      browser: await (launch ? openBrowser(launch) : sharedBrowser()),
    });
  }, 120_000);
  afterAll(async () => {
    if (forum.browser === shared) await Promise.all(forum.browser.contexts().map((context) => context.close()));
    else await forum.browser?.close();
    await forum.app?.[Symbol.asyncDispose]();
  });

  // A session belongs to the browser that logged in, identified by these headers: no page has to be opened for it.
  const stateOf = async (person: Person): Promise<BrowserContextOptions['storageState']> => {
    const client = forum.app.client({ 'user-agent': USER_AGENT, 'accept-language': LANGUAGE });
    await client.login(person, PASSWORD);
    const place = { domain: 'localhost', path: '/', expires: -1, secure: false, sameSite: 'Lax' } as const;
    const cookies = [...client.cookies].map(([name, value]) => ({ ...place, name, value, httpOnly: true }));
    return { cookies, origins: [] };
  };
  forum.open = async (visitor, options = {}) => {
    if (visitor !== 'guest' && !states.has(visitor)) states.set(visitor, await stateOf(visitor));
    const storageState = states.get(visitor);
    const own: BrowserContextOptions = {
      baseURL: forum.url,
      locale: LANGUAGE,
      viewport: { width: 1280, height: 900 },
      // Drawing view transitions takes a browser without graphics hardware longer than everything else.
      reducedMotion: 'reduce',
      ...(storageState && { storageState }),
    };
    const context = await forum.browser.newContext({ ...own, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    explainFailure(page, forum.app);
    return page;
  };
  forum.endSessions = async (person) => {
    states.delete(person);
    await forum.app.app.service(Accounts).setPassword(forum.people[person].id, PASSWORD);
  };
  return forum;
}

/** If a test fails, prints whose page it was, whether it is painted at all, and which sessions ended. */
function explainFailure(page: Page, { lines }: TestForum): void {
  const seen = `new Promise((resolve) => {
    const { member } = JSON.parse(document.getElementById('forum')?.textContent ?? '{}');
    const tell = (drawn) => resolve({ drawn, member, text: document.body.innerText.slice(0, 400) });
    requestAnimationFrame(() => tell(true));
    setTimeout(tell, 1000, false);
  })`;
  try {
    onTestFailed(async () => {
      if (page.isClosed()) return;
      console.error(lines.filter(({ message }) => message === 'a session was ended'));
      const waited = new Promise((resolve) => setTimeout(resolve, 3_000, 'the page does not answer'));
      console.error(page.url(), await Promise.race([page.evaluate(seen).catch(String), waited]));
    });
  } catch {
    // Opened for all tests of a file.
  }
}

/** Logs in through the form, like a user, and stays on the page that follows. */
export async function logIn(page: Page, name: string, password: string = PASSWORD): Promise<void> {
  await page.goto('/login');
  await page.getByLabel('Username or e-mail').fill(name);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
}

/** Members, categories and discussions as in a forum after its first weeks, with at least two pages of each list. */
async function fill(test: TestForum): Promise<Record<Person, Account>> {
  const { app } = test;
  const [accounts, categories, importer, markdown] = [
    app.service(Accounts),
    app.service(Categories),
    app.service(Importer),
    app.service(Markdown),
  ];
  const people = {} as Record<Person, Account>;
  for (const [username, groupId] of Object.entries(GROUPS) as [Person, string][]) {
    const bio = `${username} mends boats in a shed by the river.`;
    people[username] = await accounts.create({
      username,
      email: `${username}@forum.test`,
      password: PASSWORD,
      groupId,
      bio,
    });
  }
  await accounts.create({ username: 'zoe', email: 'zoe@forum.test', password: PASSWORD });
  await categories.save({
    name: 'Boats and engines',
    description: 'Hulls, rigs, engines and everything that leaks.',
    hue: 195,
    position: 5,
  });
  const open = categories.all().filter(({ view, create }) => view === 'everyone' && create === 'members');
  const html = new Map(
    await Promise.all([LONG, ...SHORT].map(async (text) => [text, await markdown.render(text)] as const)),
  );
  const authors = Object.values(people).map(({ id }) => id);
  const [hour, start] = [3_600_000, Date.now() - 40 * 86_400_000];
  await importer.importDiscussions(
    TITLES.map((title, at) => {
      const createdAt = start + at * 20 * hour;
      const replies =
        at === 0 ? Array.from({ length: 24 }, (_, n) => SHORT[n % SHORT.length]!) : SHORT.slice(0, at % 4);
      const posts = [LONG, ...replies].map((content, n) => ({
        content,
        html: html.get(content)!,
        authorId: authors[(at + n) % authors.length]!,
        createdAt: new Date(createdAt + n * hour),
      }));
      const place = {
        categoryId: open[at % open.length]!.id,
        authorId: authors[at % authors.length]!,
        createdAt: new Date(createdAt),
      };
      return {
        title,
        ...place,
        views: at * 7,
        pinned: at === 0,
        locked: at === 1,
        posts,
        fields: { tags: TAGS.slice(at % 2, 1 + ((at + 2) % 4)) },
      };
    }),
  );
  await react(test);
  await notify(test, people);
  await follow(test);
  return people;
}

/** Adds reactions to the first posts, and a report. */
async function react({ client }: TestForum): Promise<void> {
  const mia = client();
  await mia.login('mia', PASSWORD);
  const { posts } = (await mia.get('/api/discussions/1/posts')).body as { posts: readonly { id: string }[] };
  const [first, second] = posts.map(({ id }) => id);
  for (const reaction of ['like', 'wow']) await mia.post('/api/reactions/toggle', { post_id: first, reaction });
  await mia.post('/api/reports', { post_id: second, reason: 'spam', note: 'The same keel bolts in every discussion.' });
}

/** Adds ada's personal data: a feed URL, and files. */
async function follow({ client }: TestForum): Promise<void> {
  const ada = client();
  await ada.login('ada', PASSWORD);
  await ada.post('/settings/feeds', { name: 'Reader on the boat' }, { accept: 'application/json' });
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
  for (const [bytes, name] of [
    [Buffer.from(dot, 'base64'), 'A very small boat on a very large lake.png'],
    [Buffer.from('Oars'), 'packing-list.txt'],
  ] as const) {
    const body = new FormData();
    body.append('file', new Blob([bytes]), name);
    await ada.request('POST', '/api/uploads', { body });
  }
}

/** Adds something unread for ada, in a discussion that no test opens as her. */
async function notify({ app, client }: TestForum, { ada, bob, mia }: Record<Person, Account>): Promise<void> {
  const { id, number } = (await client().get('/api/discussions/3')).body.discussion as { id: string; number: number };
  const about = { userId: ada.id, discussionId: id, url: `/d/${number}` };
  await app.service(Notifications).notify([
    { ...about, type: 'reply', actorId: bob.id, key: 'reply' },
    { ...about, type: 'mention', actorId: mia.id, key: 'mention' },
    { type: 'report_handled', userId: ada.id, url: '/', title: TITLES[0]!, key: 'report' },
  ]);
}
