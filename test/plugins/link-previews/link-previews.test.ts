import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { sql } from 'parley-forum';
import { leastOf } from 'parley-forum/testing';
import { loneLinks } from '../../../plugins/link-previews/lone-links.ts';
import { isBelow } from '../../../plugins/link-previews/hosts.ts';
import { openDatabase } from '../../../core/host/databases/open.ts';
import { onServer, testLog } from '../../kit/database.ts';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';
import { picture } from '../uploads/forum.ts';
import { page, titled, useOutside } from './outside.ts';

const forum = useForum({ 'link-previews.rate_limit': 10_000 }, { previewHosts: ['127.0.0.1', '127.0.0.3'] });
const outside = useOutside();
const DAY = 86_400_000;
const FETCH = 'link-previews/job:fetch';
const RENEW = 'link-previews/job:renew';

/** Resolves when no fetch is pending. */
const settled = (): Promise<void> =>
  vi.waitFor(
    async () => {
      const report = await forum.app.app.jobs.report();
      const fetching = report.find(({ listener }) => listener === FETCH);
      expect((fetching?.waiting ?? 0) + (fetching?.running ?? 0)).toBe(0);
    },
    { timeout: 20_000, interval: 20 },
  );
const shown = async (number: number, as: Name | 'guest' = 'guest'): Promise<string> => {
  const client = as === 'guest' ? forum.guest : forum.as[as];
  const at = `/d/${number}`;
  return expectStatus(await client.get((await client.get(at)).headers.get('location') ?? at), 200).text;
};
const cardsIn = (text: string): readonly string[] =>
  [...text.matchAll(/<div class="link-preview" dir="auto">.*?<\/div><\/div>/gs)].map(([card]) => card);
const titlesIn = (text: string): readonly string[] =>
  cardsIn(text).map((card) => /link-preview-title"><a [^>]*>([^<]*)</.exec(card)?.[1] ?? '');

interface Written {
  readonly number: number;
  readonly discussionId: string;
  readonly postId: string;
}
/** Writes a reply with this text in a new discussion and waits until everything it links to has been fetched. */
async function write(content: string): Promise<Written> {
  const { id, number } = await forum.start('ada', 'About a link');
  const { id: postId } = await forum.reply('ada', id, content);
  await settled();
  return { number, discussionId: id, postId };
}
/** The titles of the cards shown for this text. */
const titlesOf = async (content: string): Promise<readonly string[]> =>
  titlesIn(await shown((await write(content)).number));
const set = (values: Readonly<Record<string, unknown>>): Promise<unknown> => forum.app.app.settings.set(values);
/** Advances the clock by some days, logs the authors in again and fetches what is due. */
async function later(days: number): Promise<void> {
  forum.app.clock.advance(days * DAY);
  for (const name of ['ada', 'bob'] as const) await forum.as[name].login(name, PASSWORD);
  await forum.app.runSchedule(RENEW);
  await settled();
}
const previews = (): Promise<readonly { url: string }[]> =>
  forum.app.app.data.all(sql<{ url: string }>`select url from link_preview`);

afterEach(() =>
  set({ 'link-previews.enabled': true, 'link-previews.excluded_hosts': [], 'link-previews.most': 10_000 }),
);

describe('a link in a paragraph of its own', () => {
  test('is shown as a card with the metadata of its page and the actual host', async () => {
    outside.pages.set(
      '/bees',
      page(`<title>Old</title><meta property="og:title" content="Bees &amp; hives">
      <meta property="og:description" content="What they\n  do all day"><meta property="og:site_name" content="The Garden">`),
    );
    const { number } = await write(`Look at this:\n\n${outside.url('/bees')}\n\nNice.`);
    const text = await shown(number);
    expect(titlesIn(text)).toEqual(['Bees &amp; hives']);
    const [card] = cardsIn(text);
    expect(card).toContain(`<bdi>The Garden</bdi> · <bdi>${new URL(outside.url('/')).host}</bdi>`);
    expect(card).toContain(`<a href="${outside.url('/bees')}" rel="nofollow ugc noopener">`);
    expect(card).toContain('What they do all day');
    expect(text).toContain('<p dir="auto">Look at this:</p>');
    expect(await shown(number, 'bob')).toContain(card);
  });

  test('is a plain link until its page has been fetched, which purges the cached page', async () => {
    outside.pages.set('/late', titled('Late'));
    await set({ 'link-previews.enabled': false });
    const { number } = await write(outside.url('/late'));
    expect(cardsIn(await shown(number))).toEqual([]);
    expect(await shown(number)).toContain(`<p dir="auto"><a href="${outside.url('/late')}"`);
    expect(outside.asked).toEqual([]);
    await set({ 'link-previews.enabled': true });
    expect(cardsIn(await shown(number))).toEqual([]);
    await later(0);
    expect(titlesIn(await shown(number))).toEqual(['Late']);
  });

  test('is fetched once however often it is posted, and five cards are shown per post', async () => {
    const paths = ['/1', '/2', '/3', '/4', '/5', '/6'];
    for (const path of paths) outside.pages.set(path, titled(`Page ${path}`));
    const all = paths.map((path) => outside.url(path)).join('\n\n');
    expect(await titlesOf(all)).toEqual(paths.slice(0, 5).map((path) => `Page ${path}`));
    expect(await titlesOf(outside.url('/1'))).toEqual(['Page /1']);
    expect(outside.asked.toSorted()).toEqual(paths.slice(0, 5));
  });

  test('gets no card if it has link text, nor does a link in a sentence, quotation, list or code', async () => {
    outside.pages.set('/in', titled('In'));
    const url = outside.url('/in');
    for (const content of [
      `See ${url}`,
      `[words](${url})`,
      `> ${url}`,
      `- ${url}`,
      `    ${url}`,
      `${url}\nand more`,
      '/d/1',
    ])
      expect(await titlesOf(content)).toEqual([]);
    expect(outside.asked).toEqual([]);
  });

  test('loses its card when it is edited out, and has no card in the API', async () => {
    outside.pages.set('/gone', titled('Gone'));
    const { number, postId } = await write(outside.url('/gone'));
    expect(titlesIn(await shown(number))).toEqual(['Gone']);
    const { post } = expectStatus(await forum.guest.get(`/api/posts/${postId}`), 200).body;
    expect(post.html).not.toContain('link-preview');
    expectStatus(await forum.as.ada.put(`/api/posts/${postId}`, { content: 'Nothing' }), 200);
    expect(cardsIn(await shown(number))).toEqual([]);
    await later(2);
    expect((await previews()).map(({ url }) => url)).not.toContain(outside.url('/gone'));
  });
});

test.each(['http://[', 'http://a.example:99999/', `https://a.example/${'é'.repeat(1_000)}`])(
  'a link that is not a valid URL, or too long to store, stays unchanged: %s',
  (url) => expect(loneLinks(`<p dir="auto"><a href="${url}" rel="nofollow">${url}</a></p>`)).toEqual([]),
);

describe('the metadata of a page', () => {
  test('is always shown as plain text', async () => {
    outside.pages.set(
      '/evil',
      page(`<meta property="og:title" content="&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x">
        <meta property="og:description" content="&lt;img src=x onerror=alert(1)&gt;\u202Ednim">
        <meta property="og:site_name" content="&lt;/bdi&gt;&lt;b&gt;Your Bank">
        <meta property="og:image" content="javascript:alert(1)">`),
    );
    const text = await shown((await write(outside.url('/evil'))).number);
    const [card = ''] = cardsIn(text);
    expect(titlesIn(text)).toEqual(['&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x']);
    expect(card).not.toMatch(/<script|<img|<b>|onerror=alert\(1\)>|\u202E/);
    expect(card).toContain('&lt;img src=x onerror=alert(1)&gt; dnim');
  });

  test('is read from a limited part of the page, so that no page blocks the forum', async () => {
    const deep = `${'<div>'.repeat(52_000)}${'</x>'.repeat(65_000)}`;
    const hostile = [deep, '<b>'.repeat(170_000), '<svg><title>'.repeat(43_000), '<table><tr><td>'.repeat(34_000)];
    hostile.forEach((rest, at) => outside.pages.set(`/heavy-${at}`, titled(`Heavy ${at}`, rest)));
    const delay = monitorEventLoopDelay();
    delay.enable();
    const titles = await titlesOf(hostile.map((_, at) => outside.url(`/heavy-${at}`)).join('\n\n'));
    delay.disable();
    expect(titles).toEqual(['Heavy 0', 'Heavy 1', 'Heavy 2', 'Heavy 3']);
    expect(delay.max / 1e6).toBeLessThan(500);
  });

  test('is truncated, and decoded in the character set of the page', async () => {
    outside.pages.set('/long', titled('word '.repeat(100)));
    outside.pages.set('/latin', {
      headers: { 'content-type': 'text/html' },
      body: Buffer.from('<meta charset="iso-8859-1"><title>Caf\u00E9</title>', 'latin1'),
    });
    const [long = ''] = await titlesOf(outside.url('/long'));
    expect(long).toMatch(/^(?:word )+word…$/);
    expect(long.length).toBeLessThanOrEqual(200);
    expect(await titlesOf(outside.url('/latin'))).toEqual(['Café']);
  });
});

describe('a preview image', () => {
  test('is re-encoded as a thumbnail and served only from this site', async () => {
    outside.pages.set('/pictured', titled('Pictured', '<meta property="og:image" content="/big.png">'));
    outside.pages.set('/big.png', {
      headers: { 'content-type': 'image/png' },
      body: await picture('png', { width: 800, height: 400 }),
    });
    const [card = ''] = cardsIn(await shown((await write(outside.url('/pictured'))).number));
    const [, path = ''] =
      /<img src="(\/link-previews\/[^"]+)" alt="" width="240" height="240" loading="lazy"/.exec(card) ?? [];
    const answer = expectStatus(await forum.guest.get(path), 200);
    expect(answer.headers.get('content-type')).toBe('image/webp');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer.headers.get('cache-control')).toContain('immutable');
    const again = await forum.guest.request('GET', path, { headers: { 'if-none-match': answer.headers.get('etag')! } });
    expect(again.status).toBe(304);
    for (const missing of ['/link-previews/x', `/link-previews/${forum.ids.ada}`])
      expectStatus(await forum.guest.get(missing), 404);
  });

  test.each([
    ['is no picture', { headers: { 'content-type': 'image/png' }, body: '<svg onload="alert(1)"/>' }],
    ['is too large', { headers: { 'content-type': 'image/png' }, body: Buffer.alloc(5 * 1024 * 1024) }],
    ['calls itself text', { headers: { 'content-type': 'text/html' }, body: 'x' }],
    ['leads to this network', { status: 302, headers: { location: 'http://127.0.0.2/secret.png' } }],
  ])('that %s is left out of the card', async (what, answer) => {
    const path = `/${what.replaceAll(' ', '-')}`;
    outside.pages.set(path, titled(what, `<meta property="og:image" content="${path}.png">`));
    outside.pages.set(`${path}.png`, answer);
    const text = await shown((await write(outside.url(path))).number);
    expect(titlesIn(text)).toEqual([what]);
    expect(cardsIn(text)[0]).not.toContain('<img');
    expect(outside.asked).toContain(`${path}.png`);
  });
});

describe('no card is shown for a page', () => {
  test.each(['127.0.0.2', 'localhost', '[::1]', '0.0.0.0', '169.254.169.254', '10.0.0.1'])(
    'at the private address %s',
    async (host) => {
      outside.pages.set('/inside', titled('Secret'));
      expect(await titlesOf(outside.url('/inside', host))).toEqual([]);
      expect(outside.asked).toEqual([]);
    },
  );

  test('that redirects to a private address or endlessly', async () => {
    outside.pages.set('/away', { status: 302, headers: { location: outside.url('/inside', '127.0.0.2') } });
    outside.pages.set('/inside', titled('Secret'));
    outside.pages.set('/loop', { status: 301, headers: { location: '/loop' } });
    expect(await titlesOf(outside.url('/away'))).toEqual([]);
    expect(outside.asked).toEqual(['/away']);
    expect(await titlesOf(outside.url('/loop'))).toEqual([]);
    expect(outside.asked.filter((path) => path === '/loop')).toHaveLength(4);
  });

  test('but one is shown if it redirects to a public page', async () => {
    outside.pages.set('/short', { status: 302, headers: { location: '/whole' } });
    outside.pages.set('/whole', titled('Whole'));
    expect(await titlesOf(outside.url('/short'))).toEqual(['Whole']);
  });

  test.each([
    ['has no title', page('')],
    ['is no HTML', { headers: { 'content-type': 'application/pdf' }, body: '<title>No</title>' }],
    ['is an error', { ...titled('No'), status: 500 }],
    ['goes on in another protocol', { status: 101, headers: { connection: 'upgrade', upgrade: 'h2c' } }],
    ['is compressed', page('<title>No</title>', { 'content-encoding': 'gzip' })],
    ['has its title after half a megabyte', page(`<!--${'x'.repeat(512 * 1024)}--><title>No</title>`)],
  ])('that %s', async (what, answer) => {
    const path = `/${what.replaceAll(' ', '-')}`;
    outside.pages.set(path, answer);
    expect(await titlesOf(outside.url(path))).toEqual([]);
    expect(outside.asked).toEqual([path]);
  });

  test('that takes too long', async () => {
    outside.pages.set('/slow', undefined);
    const start = performance.now();
    expect(await titlesOf(outside.url('/slow'))).toEqual([]);
    expect(outside.asked).toEqual(['/slow']);
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  test('on an excluded host, even if its card was shown before', async () => {
    outside.pages.set('/excluded', titled('Excluded'));
    const { number } = await write(outside.url('/excluded'));
    expect(titlesIn(await shown(number))).toEqual(['Excluded']);
    await set({ 'link-previews.excluded_hosts': ['127.0.0.1'] });
    expect(cardsIn(await shown(number))).toEqual([]);
    outside.pages.set('/excluded-too', titled('Excluded'));
    expect(await titlesOf(outside.url('/excluded-too'))).toEqual([]);
    expect(outside.asked).toEqual(['/excluded']);
  });

  test('on an excluded host, even behind a redirect or as the image of another page', async () => {
    await set({ 'link-previews.excluded_hosts': ['127.0.0.3'] });
    outside.pages.set('/leads', { status: 302, headers: { location: outside.url('/there', '127.0.0.3') } });
    const there = outside.url('/there.png', '127.0.0.3');
    outside.pages.set('/shows', titled('Shows', `<meta property="og:image" content="${there}">`));
    expect(await titlesOf([outside.url('/leads'), outside.url('/shows')].join('\n\n'))).toEqual(['Shows']);
    expect(outside.asked.toSorted()).toEqual(['/leads', '/shows']);
  });

  test.each([
    ['a.example', 'a.example', true],
    ['sub.a.example', 'A.Example', true],
    ['a.example.', 'a.example', true],
    ['a.example', 'a.example.', true],
    ['xn--mnchen-3ya.example', 'München.example', true],
    ['b-a.example', 'a.example', false],
    ['a.example', 'sub.a.example', false],
  ])('on %s if %s is excluded: %s', (host, excluded, left) => expect(isBelow(host, excluded)).toBe(left));
});

describe('over time', () => {
  test('a page is fetched again, and its card is updated', async () => {
    outside.pages.set('/news', titled('Monday'));
    const { number } = await write(outside.url('/news'));
    await later(29);
    expect(titlesIn(await shown(number))).toEqual(['Monday']);
    outside.pages.set('/news', titled('Tuesday'));
    await later(2);
    expect(titlesIn(await shown(number))).toEqual(['Tuesday']);
    outside.pages.delete('/news');
    await later(31);
    expect(cardsIn(await shown(number))).toEqual([]);
  });

  test('a card in a deleted discussion is back once that is restored, even if the plugin was disabled meanwhile', async () => {
    outside.pages.set('/back', titled('Comes back'));
    const { number, discussionId, postId } = await write(outside.url('/back'));
    await forum.as.mia.login('mia', PASSWORD);
    const { kernel } = forum.app.app;
    const off = async (work?: () => Promise<unknown>): Promise<void> => {
      await kernel.disable('link-previews');
      await work?.();
      await kernel.enable('link-previews');
      await vi.waitFor(
        async () => {
          const waiting = sql`select 1 from job where listener = 'link-previews/job:catch-up'`;
          expect(await forum.app.app.data.all(waiting)).toEqual([]);
        },
        { timeout: 20_000, interval: 20 },
      );
    };
    const remove = async () => expectStatus(await forum.as.mia.delete(`/api/discussions/${discussionId}`), 200);
    const restore = async () => expectStatus(await forum.as.mia.post(`/api/discussions/${discussionId}/restore`), 200);
    await remove();
    await off();
    await later(2);
    await forum.as.mia.login('mia', PASSWORD);
    await restore();
    expect(titlesIn(await shown(number))).toEqual(['Comes back']);
    await remove();
    await off(restore);
    const uses = await forum.app.app.data.all(sql`select visible from link_preview_use where post_id = ${postId}`);
    expect(uses).toEqual([{ visible: true }]);
  });

  test('a page linked only in deleted discussions is not fetched again until one is restored', async () => {
    outside.pages.set('/gone', titled('Before'));
    const { number, discussionId } = await write(outside.url('/gone'));
    await forum.as.mia.login('mia', PASSWORD);
    expectStatus(await forum.as.mia.delete(`/api/discussions/${discussionId}`), 200);
    outside.asked.length = 0;
    outside.pages.set('/gone', titled('After'));
    await later(31);
    expect(outside.asked).not.toContain('/gone');
    await forum.as.mia.login('mia', PASSWORD);
    expect((await forum.as.mia.submit(`/d/${number}/moderate`, { action: 'restore' })).status).toBe(303);
    await later(0);
    expect(titlesIn(await shown(number))).toEqual(['After']);
  });

  test('a page linked in a moved post is still fetched again if the original discussion is deleted', async () => {
    outside.pages.set('/moved', titled('Before'));
    const { discussionId, postId } = await write(outside.url('/moved'));
    await forum.as.mia.login('mia', PASSWORD);
    const body = { post_ids: [postId], title: 'Its own', category_id: 'general' };
    const path = `/api/discussions/${discussionId}/move-posts`;
    const { discussion } = expectStatus(await forum.as.mia.post(path, body), 200).body;
    expectStatus(await forum.as.mia.delete(`/api/discussions/${discussionId}`), 200);
    expect(titlesIn(await shown(discussion.number))).toEqual(['Before']);
    outside.pages.set('/moved', titled('After'));
    await later(31);
    expect(titlesIn(await shown(discussion.number))).toEqual(['After']);
  });

  test('a failed fetch is retried after one day, then after two', async () => {
    const asked = (): number => outside.asked.filter((path) => path === '/shy').length;
    const { number } = await write(outside.url('/shy'));
    await write(outside.url('/shy'));
    await later(0.5);
    expect(asked()).toBe(1);
    await later(1);
    expect(asked()).toBe(2);
    await later(1);
    expect(asked()).toBe(2);
    outside.pages.set('/shy', titled('Here'));
    await later(1.5);
    expect(titlesIn(await shown(number))).toEqual(['Here']);
  });

  test('the oldest previews beyond the limit are removed, and their links become plain', async () => {
    outside.pages.set('/first', titled('First'));
    const { number } = await write(outside.url('/first'));
    forum.app.clock.advance(1_000);
    for (let each = 0; each < 10; each += 5)
      await write([0, 1, 2, 3, 4].map((one) => outside.url(`/more-${each + one}`)).join('\n\n'));
    await set({ 'link-previews.most': 10 });
    await later(0);
    expect(await previews()).toHaveLength(10);
    expect(cardsIn(await shown(number))).toEqual([]);
  });

  test('hundreds of unused previews are removed after a day, as are the oldest beyond the limit; others stay', async () => {
    const store = (kind: string, days: number): Promise<unknown> =>
      forum.app.app.data.all(sql`insert into link_preview (id, url, created_at, due_at)
        select gen_random_uuid(), 'https://' || ${kind}::text || '.example/' || n, at, at + interval '1 year'
        from generate_series(1, 450) n, (select ${new Date(forum.app.clock.now() - days * DAY)}::timestamptz as at) moment`);
    const left = async (kind: string): Promise<number> =>
      (await previews()).filter(({ url }) => new URL(url).hostname === `${kind}.example`).length;
    outside.pages.set('/stays', titled('Stays'));
    const { number } = await write(outside.url('/stays'));
    forum.app.clock.advance(2 * DAY);
    await store('older', 3);
    await store('old', 1.5);
    await store('young', 0.5);
    await later(0);
    expect([await left('older'), await left('old'), await left('young')]).toEqual([0, 0, 450]);
    expect(titlesIn(await shown(number))).toEqual(['Stays']);
    await set({ 'link-previews.most': 20 });
    await later(0);
    expect([(await previews()).length, await left('young')]).toEqual([20, 20]);
  });
});

test.runIf(onServer)(
  'an unused preview is kept if a post that links to its page is written during its removal',
  async () => {
    outside.pages.set('/again', titled('Again'));
    const { postId } = await write(outside.url('/again'));
    expectStatus(await forum.as.ada.put(`/api/posts/${postId}`, { content: 'Nothing' }), 200);
    forum.app.clock.advance(2 * DAY);
    await forum.as.ada.login('ada', PASSWORD);
    const { databaseUrl, dataDir } = forum.app.app.environment;
    const other = await openDatabase({ url: databaseUrl, folder: dataDir, log: testLog });
    const statement = sql<{ count: number }>`select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    // The transaction would see the activity as it first was, without connections opened since.
    const waiting = async (): Promise<number> => (await other.outside(() => other.one(statement)))!.count;
    const url = outside.url('/again');
    let removed: Promise<unknown> | undefined;
    let number = 0;
    const written = await other.transaction(async () => {
      await other.all(sql`select 1 from link_preview where url = ${url} for update`);
      const writing = write(url);
      await expect.poll(waiting, { timeout: 15_000 }).toBe(1);
      let done = false;
      removed = forum.app.runSchedule(RENEW).finally(() => (done = true));
      await expect.poll(async () => done || (await waiting()) > 1, { timeout: 15_000 }).toBe(true);
      return { writing };
    });
    ({ number } = await written.writing);
    await removed;
    await other.close();
    expect(titlesIn(await shown(number))).toEqual(['Again']);
  },
);

test('nothing is fetched or shown while previews are disabled', async () => {
  outside.pages.set('/off', titled('Off'));
  const { number } = await write(outside.url('/off'));
  expect(titlesIn(await shown(number))).toEqual(['Off']);
  await set({ 'link-previews.enabled': false });
  expect(cardsIn(await shown(number))).toEqual([]);
  outside.pages.set('/off-too', titled('Off'));
  expect(await titlesOf(outside.url('/off-too'))).toEqual([]);
  expect(outside.asked).toEqual(['/off']);
});

test('cards cost a page no extra SQL statement once it was shown, and a constant number the first time', async () => {
  const withLinks = async (posts: number): Promise<number> => {
    const { id, number } = await forum.start('ada', 'Many links');
    for (let post = 0; post < posts; post++) {
      outside.pages.set(`/${posts}-${post}`, titled(`${posts}-${post}`));
      await forum.reply('ada', id, outside.url(`/${posts}-${post}`));
    }
    await settled();
    return number;
  };
  const [none, few, many] = [await withLinks(0), await withLinks(2), await withLinks(12)];
  const cost = (number: number) => leastOf(() => forum.app.statements(() => shown(number, 'bob')));
  const plain = await cost(none);
  expect(await cost(few)).toBe(plain);
  expect(await cost(many)).toBe(plain);
  expect(titlesIn(await shown(many, 'bob'))).toHaveLength(12);
  const firstTime = async (number: number): Promise<number> => {
    await forum.app.app.cache.purge('link-previews', 'discussion-records');
    return forum.app.statements(() => shown(number, 'bob'));
  };
  expect(await leastOf(() => firstTime(many))).toBe(await leastOf(() => firstTime(few)));
});

test('fetches beyond the rate limit are postponed', async () => {
  outside.pages.set('/patient', titled('Patient'));
  await set({ 'link-previews.rate_limit': 1 });
  const { id } = await forum.start('ada', 'Too many');
  await forum.reply('ada', id, outside.url('/patient'));
  const fetching = async () => (await forum.app.app.jobs.report()).find(({ listener }) => listener === FETCH);
  await expect.poll(async () => ((await fetching())?.oldest?.getTime() ?? 0) > Date.now()).toBe(true);
  expect(outside.asked).toEqual([]);
});
