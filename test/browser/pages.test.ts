import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { Secrets, Settings, type RouteInfo } from 'parley-forum';
import { Discussions } from 'parley-forum/plugins/discussions';
import { Access } from 'parley-forum/plugins/access';
import { Tags } from 'parley-forum/ports/tags';
import { FULL, inFull } from '../kit/full.ts';
import { linkIn, nextMail } from '../plugins/recovery/forum.ts';
import { listen, lostMarks, movesSideways, moving, settle, shownThoughHidden, spaceText, walkFocus } from './checks.ts';
import { PASSWORD, useForum, type Visitor } from './forum.ts';
import { judge } from './look.ts';

/**
 * The most used pages are checked in both colour schemes, with forced colours, with the Tab key at both widths, and as
 * guests and members see them; the others once, at the narrow width, as they share layout and components.
 */
const IMPORTANT = [/^\/$/, /^\/c\//, /^\/d\/1-/, /^\/new$/, /^\/login$/, /^\/admin\/plugins$/];
const isImportant = (path: string): boolean => IMPORTANT.some((address) => address.test(path));
type Addresses = Partial<Record<Visitor, readonly string[]>>;

const forum = useForum();
let routes: readonly RouteInfo[];
/** The URLs that fill in parameters, and who visits them. A route with parameters must be listed here. */
let filled: Readonly<Record<string, Addresses>>;
/** The number of groups of settings that a short run checks. */
const LONGEST_GROUPS = 3;
/** Pages that do not exist, or are forbidden. */
const MISSING: Addresses = { guest: ['/no-such-page'], ada: ['/admin'] };
const NO_ADDRESS = '/settings/security/email/confirm/no-such-link';
/** The callback of a login at a provider is checked where a provider exists. */
const NO_PROVIDER = '/auth/no-such-provider/callback';
const missing = [...Object.values(MISSING).flat(), '/password/reset/no-such-link', NO_ADDRESS, NO_PROVIDER];
/** Pages that look different with a query. */
const ASKED: Addresses = {
  guest: [
    '/?category=general',
    '/search?q=bilge',
    '/search?q=gyroscope',
    ...inFull('/search?q=bilge&type=posts', '/search?q=ada&type=users', '/search?q=author:'),
  ],
  ada: [
    '/bookmarks?q=gyroscope',
    '/unread?category=general',
    ...inFull('/notifications?unread=true', '/notifications?page=2', '/bookmarks?q=keel'),
  ],
  bob: ['/bookmarks', '/settings/held-posts', '/messages'],
  mia: inFull('/mod/reports?status=resolved', '/mod/log?actor=mia'),
  root: [
    '/admin/reactions?slug=like',
    '/admin/audit?actor=nobody-here',
    ...inFull('/admin/audit?action=account.logged-in&actor=ada'),
  ],
};

beforeAll(async () => {
  const { app } = forum.app;
  routes = app.routes.list().filter(({ surface, method }) => surface.id === 'pages' && method === 'get');
  const admin = { id: forum.people.root.id, username: 'root', group: app.service(Access).groupOf('admin') };
  const { items } = await app.service(Discussions).list({ limit: 100 }, admin);
  const by = (name: string): string => `/d/${items.find(({ author }) => author.username === name)!.number}`;
  const long = new URL(items.find(({ number }) => number === 1)!.url).pathname;
  const locked = new URL(items.find(({ is_locked }) => is_locked)!.url).pathname;
  const { posts } = (await forum.app.client().get('/api/discussions/1/posts')).body as {
    posts: readonly { id: string }[];
  };
  // They exist only once they have been written.
  await app
    .service(Settings)
    .set({ 'site-pages.terms': '# You\n\nbring your own boat.', 'site-pages.imprint': 'Harbour Street 1' });
  await introduce();
  const left = await split();
  // In every discussion the authors take turns.
  const own = `/p/${posts[4]!.id}`;
  await change(own);
  const mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  await mia.post(`/api/posts/${posts[1]!.id}/notes`, { content: 'Keep an eye on this one.' });
  const { reports } = (await mia.get('/api/reports?status=open&limit=1')).body;
  const [tag] = await app.service(Tags).visible(admin);
  const stop = `${forum.people.ada.id}/reply/${app.service(Secrets).sign('notifications.unsubscribe', `${forum.people.ada.id} reply`)}`;
  const held = await holdPosts();
  const { conversation, reported, report } = await converse();
  const links = await linksInMails();
  const settings = app.settings
    .list()
    .map(({ schema, plugin }) => (schema as { 'x-group'?: string })['x-group'] ?? plugin);
  const groups = [...Map.groupBy(settings, String)].toSorted(([, one], [, other]) => other.length - one.length);
  // All consist of the same few kinds of fields, which the longest groups cover.
  const shown = groups.map(([group]) => group).filter((group) => group !== 'hidden');
  filled = {
    '/c/:slug': { guest: ['/c/general', ...inFull('/c/announcements')], ada: ['/c/general'] },
    '/d/:address': {
      guest: [long, ...inFull(`${long}?page=2`, locked)],
      ada: [long, locked],
      mia: [long, left],
    },
    '/d/:address/:post': { guest: ['/d/1/22'] },
    '/d/:address/reply': { ada: ['/d/1/reply'] },
    '/d/:address/related': { guest: ['/d/1/related'] },
    '/d/:address/people': { guest: ['/d/1/people'] },
    '/d/:address/print': { guest: ['/d/1/print'] },
    '/d/:address/edit': { ada: [`${by('ada')}/edit`] },
    '/d/:address/move': { mia: ['/d/1/move', ...inFull(`${by('ada')}/move`)] },
    '/d/:address/delete': { ada: [`${by('ada')}/delete`] },
    '/p/:id': { guest: [own] },
    '/p/:id/edit': { ada: [`${own}/edit`] },
    '/p/:id/delete': { ada: [`${own}/delete`] },
    '/p/:id/report': { ada: [`/p/${posts[1]!.id}/report`] },
    '/p/:id/notes': { mia: [`/p/${posts[1]!.id}/notes`] },
    '/p/:id/menu': { ada: [`/p/${posts[1]!.id}/menu`] },
    '/p/:id/reactions': {
      ada: [`/p/${posts[0]!.id}/reactions`, ...inFull(`/p/${posts[0]!.id}/reactions?kind=like`)],
      guest: inFull(`/p/${posts[0]!.id}/reactions`),
    },
    '/p/:id/history': { ada: [`${own}/history`] },
    '/bookmarks/:id': { ada: [`/bookmarks/${await bookmark(posts[2]!.id)}`] },
    '/messages/:id': { ada: [`/messages/${conversation}`], bob: [`/messages/${conversation}?before=20`] },
    '/messages/:id/leave': { ada: [`/messages/${conversation}/leave`] },
    '/messages/edit/:id': { bob: [`/messages/edit/${reported}`] },
    '/messages/remove/:id': { bob: [`/messages/remove/${reported}`] },
    '/messages/report/:id': { ada: [`/messages/report/${reported}`] },
    '/mod/message-reports/:id': { mia: [`/mod/message-reports/${report}`] },
    '/mod/reports/:id': { mia: [`/mod/reports/${reports[0].id}`] },
    '/mod/approval/:id': { mia: [`/mod/approval/${held}`] },
    '/settings/held-posts/:id': { bob: [`/settings/held-posts/${held}`] },
    '/mod/members/:username': { mia: ['/mod/members/ada'] },
    '/t/:slug': { guest: [`/t/${tag!.slug}`], root: [`/admin/tags?id=${tag!.id}`] },
    '/notifications/stop/:user/:kind/:token': { guest: [`/notifications/stop/${stop}`] },
    '/password/reset/:token': { guest: [links.reset, ...inFull('/password/reset/no-such-link')] },
    '/register/confirm/:token': { guest: [links.confirm] },
    '/settings/security/email/confirm/:token': { ada: [links.address, ...inFull(NO_ADDRESS)] },
    '/auth/:provider/callback': { guest: [NO_PROVIDER] },
    '/u/:username': { guest: ['/u/ada', ...inFull('/u/zoe')], ada: inFull('/u/ada') },
    '/u/:username/clear': { mia: ['/u/ada/clear'] },
    '/u/:username/card': { guest: ['/u/ada/card'] },
    '/u/:username/:tab': {
      guest: ['/u/ada/posts', '/u/ada/about', '/u/ada/reactions', ...inFull('/u/zoe/posts')],
    },
    '/admin/settings/:group': {
      root: shown.slice(0, FULL ? undefined : LONGEST_GROUPS).map((group) => `/admin/settings/${group}`),
    },
  };
});

/** Bookmarks a post as ada; returns the id. */
async function bookmark(post: string): Promise<string> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const made = await ada.post('/api/bookmarks', {
    post_id: post,
    note: 'The keel, and what it was sealed with.',
    remind_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  return made.body.bookmark.id as string;
}

/** Bob writes more than a page of messages to ada and mia, who report the first one. */
async function converse(): Promise<Readonly<Record<'conversation' | 'reported' | 'report', string>>> {
  const [ada, bob, mia] = [forum.app.client(), forum.app.client(), forum.app.client()];
  await ada.login('ada', PASSWORD);
  await bob.login('bob', PASSWORD);
  await mia.login('mia', PASSWORD);
  const subject = `About the keel ${'of-many-words-'.repeat(8)}`;
  const content = 'Have you **seen** it?\n\n| a | b |\n|---|---|\n| 1 | 2 |';
  const { conversation, message } = (await bob.post('/api/conversations', { to: ['ada', 'mia'], subject, content }))
    .body;
  for (let at = 2; at <= 23; at++)
    await bob.post(`/api/conversations/${conversation.id}/messages`, { content: `Or only this part of it, ${at}?` });
  await bob.post('/api/conversations', { to: ['ada'], subject: 'Lunch', content: '@ada, at the slip?' });
  const report = { message_id: message.id, reason: 'abuse', note: `Rude ${'of-many-words-'.repeat(8)}` };
  await mia.post('/api/message-reports', report);
  const made = await ada.post('/api/message-reports', report);
  return { conversation: conversation.id, reported: message.id, report: made.body.report.id };
}

/** Bob submits posts: one is held for approval and one was rejected; returns the id of the held one. */
async function holdPosts(): Promise<string> {
  const [bob, mia] = [forum.app.client(), forum.app.client()];
  await bob.login('bob', PASSWORD);
  await mia.login('mia', PASSWORD);
  await forum.app.app.service(Settings).set({ 'approval.words': ['casino'] });
  const send = async (content: string): Promise<string> =>
    (await bob.post('/api/posts', { discussion_id: '1', content })).body.held_post.id as string;
  const rejected = await send(`Casino: https://${'long-'.repeat(20)}.example/`);
  await mia.post(`/api/approval/${rejected}/reject`, { reason: 'This is no place for advertisements.' });
  const discussion = { title: `A casino ${'of-many-words-'.repeat(8)}`, content: 'x', category_id: 'general' };
  await bob.post('/api/discussions', discussion);
  const held = await send('A **casino** on the quay:\n\n- slot machines\n- `roulette`');
  await forum.app.app.service(Settings).set({ 'approval.words': [] });
  return held;
}

/** Fills in ada's profile. */
async function introduce(): Promise<void> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const path = `/api/users/${forum.people.ada.id}`;
  await ada.put(path, { display_name: 'Ada Lovelace' });
  const { status } = await ada.put(`${path}/profile`, {
    about: 'I mend **boats**.\n\n- of wood\n- of steel',
    place: 'Volda, Norway',
    links: ['https://yard.example/', `https://yard.example/${'long-'.repeat(20)}`],
  });
  if (status !== 200) throw new Error(`Ada said nothing: ${status}`);
}

/** Moves a reply into a discussion of its own; returns the path of the one it left. */
async function split(): Promise<string> {
  const mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  const started = await mia.post('/api/discussions', {
    title: 'Two subjects at once',
    content: 'One of them is out of place.',
    category_id: 'general',
  });
  const { id, url } = started.body.discussion;
  const reply = await mia.post('/api/posts', { discussion_id: id, content: 'This one.' });
  const moved = await mia.post(`/api/discussions/${id}/move-posts`, {
    post_ids: [reply.body.post.id],
    title: 'A subject of its own',
    category_id: 'general',
  });
  if (moved.status !== 200) throw new Error(`Nothing was moved: ${moved.status}`);
  return new URL(url).pathname;
}

/** Edits a post of ada's, so that it has a history. */
async function change(post: string): Promise<void> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const { status } = await ada.submit(`${post}/edit`, {
    content: 'Sealed with tar, and looked at again after a winter.',
  });
  if (status !== 303) throw new Error(`${post} was not changed: ${status}`);
}

/**
 * The links in mails about a forgotten password, about a new account, and about a changed e-mail
 * address.
 */
async function linksInMails(): Promise<{ readonly reset: string; readonly confirm: string; readonly address: string }> {
  const guest = forum.app.client();
  await guest.csrf();
  await guest.post('/password/forgot', { email: forum.people.bob.email });
  const setting = 'registration.email_verification';
  await forum.app.app.service(Settings).set({ [setting]: true });
  await guest.post('/register', { username: 'newcomer', email: 'newcomer@forum.test', password: PASSWORD });
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  await ada.post('/settings/security/email', { email: 'ada@elsewhere.test' });
  await forum.app.app.service(Settings).set({ [setting]: false });
  const addresses = [forum.people.bob.email, 'newcomer@forum.test', 'ada@elsewhere.test'] as const;
  const [reset = '', confirm = '', address = ''] = await Promise.all(
    addresses.map(async (to) => linkIn(await nextMail(forum.app, to))),
  );
  return { reset, confirm, address };
}

/** Who opens a page without parameters. */
const LEAST: Readonly<Record<string, readonly Visitor[]>> = { moderator: ['mia'], admin: ['root'] };
function visitorsOf({ can, path }: RouteInfo): readonly Visitor[] {
  if (can === 'public') return FULL || isImportant(path) ? ['guest', 'ada'] : ['guest'];
  return (can === 'member' ? undefined : LEAST[can.default]) ?? ['ada'];
}
const addressesFor = (visitor: Visitor): readonly string[] => [
  ...routes.flatMap((route) => {
    if (route.path.includes(':')) return filled[route.path]?.[visitor] ?? [];
    return visitorsOf(route).includes(visitor) ? [route.path] : [];
  }),
  ...(ASKED[visitor] ?? []),
  ...(MISSING[visitor] ?? []),
];

let linesRead = 0;
/** Errors that the server has logged since the last call. */
function failures(): readonly string[] {
  const lines = forum.app.lines.slice(linesRead).filter(({ level }) => level === 'error');
  linesRead = forum.app.lines.length;
  return lines.map(({ message, error }) => `${message}: ${error instanceof Error ? error.message : ''}`);
}

/** The maximum length of one finding. */
const LONGEST = 300;

/** The viewports in which pages are checked. Colour schemes affect what is drawn, the width affects the layout. */
const WINDOWS = {
  narrow: { width: 320, height: 700 },
  middle: { width: 768, height: 1_024 },
  wide: { width: 1_280, height: 900 },
} as const;
type Add = (what: string, list: readonly string[]) => void;

/** Checks the layout at this width; `closely`: with wide text spacing and the Tab key as well. */
async function lookAtLayout(page: Page, width: keyof typeof WINDOWS, closely: boolean, add: Add): Promise<void> {
  await page.setViewportSize(WINDOWS[width]);
  if (await movesSideways(page)) add(width, ['moves sideways']);
  if (closely || width === 'narrow') add(`${width}, cut with wide spacing`, await spaceText(page));
  if (closely) add(`${width}, focused but unseen`, await walkFocus(page));
  // Otherwise the scroll position could leave something half covered by the header.
  await page.evaluate('document.activeElement?.blur(), scrollTo(0, 0)');
}

/** Checks every viewport in both colour schemes and both directions. */
async function lookAtAll(page: Page, add: Add): Promise<void> {
  for (const direction of ['ltr', 'rtl'])
    for (const [width, size] of Object.entries(WINDOWS))
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(size);
        await page.evaluate(`document.documentElement.dir = '${direction}'`);
        const what = `${width}, ${colorScheme}, ${direction}`;
        if (await movesSideways(page)) add(what, ['moves sideways']);
        add(what, await judge(page));
      }
  await page.evaluate(`document.documentElement.dir = 'ltr'`);
}

async function lookAt(page: Page, path: string, seen: Set<string>): Promise<readonly string[]> {
  const found: string[] = [];
  const add: Add = (what, list) => void found.push(...list.map((one) => `${path} ${what}: ${one}`.slice(0, LONGEST)));
  const important = FULL || isImportant(path);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce', forcedColors: 'none' });
  await page.setViewportSize(WINDOWS.narrow);
  const answer = await page.goto(path);
  // A redirect is checked at its target.
  if (seen.size === seen.add(page.url()).size) return [];
  if (!missing.includes(path) && answer?.status() !== 200) found.push(`${path}: ${answer?.status()}`);
  await settle(page);
  await lookAtLayout(page, 'narrow', important, add);
  add('narrow, light', await judge(page));
  if (important) {
    await lookAtLayout(page, 'wide', important, add);
    await page.emulateMedia({ colorScheme: 'dark' });
    add('wide, dark', await judge(page));
  }
  if (FULL) await lookAtAll(page, add);
  add('shown though hidden', await shownThoughHidden(page));
  if (important) {
    add('moves', await moving(page));
    await page.emulateMedia({ forcedColors: 'active' });
    add('not marked with forced colours', await lostMarks(page));
  }
  return found;
}

describe('every page', () => {
  test('is among those checked below', () => {
    expect(routes.length).toBeGreaterThan(20);
    const forgotten = routes.filter(({ path }) => path.includes(':') && !filled[path]);
    expect(forgotten.map(({ path, plugin }) => `${path} of ${plugin} has parameters: fill them in above`)).toEqual([]);
  });

  test.each(['guest', 'ada', 'bob', 'mia', 'root'] as const)(
    'is accessible, fits the viewport and reports no errors, as seen by %s',
    async (visitor) => {
      const page = await forum.open(visitor);
      const heard = listen(page);
      const found: string[] = [];
      const seen = new Set<string>();
      for (const path of addressesFor(visitor)) {
        found.push(...(await lookAt(page, path, seen)));
        // A missing or forbidden page is intended.
        found.push(...failures().map((line) => `${path} log: ${line}`));
        const meant = /the server responded with a status of 40[34]/;
        found.push(
          ...heard
            .splice(0)
            .filter((line) => !meant.test(line))
            .map((line) => `${path} ${line}`),
        );
      }
      await page.context().close();
      expect(found).toEqual([]);
    },
    FULL ? 3_600_000 : 400_000,
  );
});
