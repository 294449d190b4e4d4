import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { Data, definePlugin, sql, type Plugin } from 'parley-forum';
import { cardEnd, cardMeta, postBadges, type DiscussionRecord } from 'parley-forum/plugins/discussions';
import { fill, html, navigation, slotFillings } from 'parley-forum/plugins/web';
import { FULL } from '../kit/full.ts';
import { useForum } from '../plugins/discussions/forum.ts';
import { failed, readAll } from './fixtures/readers.ts';

const CONNECTIONS = FULL ? 16 : 8;
/** Milliseconds of overload, with more clients than one process can serve. */
const SATURATED = FULL ? 60_000 : 4_000;
const CROWD = 32;
/** The plugins that add most to pages; the full run uses every plugin that can be disabled. */
const SWITCHED = [
  'feeds',
  'live',
  'moderation',
  'notifications',
  'presence',
  'reactions',
  'reports',
  'search',
  'sitemap',
  'subscriptions',
  'tags',
  'uploads',
];
/** Milliseconds between a reader's requests, so that the process is not saturated. */
const REST = FULL ? 0 : 20;

const forum = useForum();
let discussion: { readonly id: string; readonly number: number };
beforeAll(async () => {
  await forum.app.app.settings.set({ 'pages.part_deadline': 50 });
  discussion = await forum.start('ada', 'Is this thing on?');
  await forum.reply('bob', discussion.id, 'It is, now and then.');
});

const setAside = (): readonly string[] =>
  forum.app.app.supervisor
    .report()
    .filter(({ quarantined, refusing }) => quarantined || refusing)
    .map(({ plugin, task }) => `${plugin}: ${task}`);
async function run(plugin: Plugin): Promise<AsyncDisposable> {
  const { kernel, plugins } = forum.app.app;
  kernel.install(plugin);
  await plugins.enable(plugin.id);
  return { [Symbol.asyncDispose]: async () => void (await plugins.disable(plugin.id)) };
}

/** Typical page parts: each queries the database. */
const healthy = definePlugin({
  id: 'healthy',
  needs: { data: Data },
  setup({ data }, plugin) {
    const ask = async (): Promise<number> =>
      (await data.one(sql<{ found: number }>`select count(*)::integer as found from discussion`))!.found;
    plugin.extend(
      slotFillings,
      fill(cardMeta, async (cards) => {
        const found = await ask();
        return cards.map(() => html`<b>card part of ${found}</b>`);
      }),
    );
    plugin.extend(
      slotFillings,
      fill(postBadges, async (posts) => {
        const found = await ask();
        return posts.map(() => html`<b>post part of ${found}</b>`);
      }),
    );
    plugin.extend(navigation, {
      area: 'main' as const,
      label: 'Counted',
      href: '/counted',
      count: { load: ask, tags: [] },
    });
  },
});

describe('page parts', () => {
  test(
    'are all present under overload, and none are quarantined',
    async () => {
      await using added = new AsyncDisposableStack();
      added.use(await run(healthy));
      const [home, page] = ['/', `/d/${discussion.number}-is-this-thing-on`];
      const readers = readAll({
        clients: Array.from({ length: CROWD }, (_, at) => (at % 2 ? forum.as.ada : forum.as.bob)),
        paths: [home, page],
        wrong: (answer, path) =>
          failed(answer) ??
          (answer.text.includes(path === home ? 'card part of 1' : 'post part of 1') &&
          answer.text.includes('notifications')
            ? undefined
            : 'lacks a part'),
      });
      await sleep(SATURATED);
      expect(await readers.stop()).toEqual([]);
      expect(readers.count).toBeGreaterThan(CROWD);
      expect(setAside()).toEqual([]);
    },
    SATURATED + 60_000,
  );

  test('that never resolve are left out and quarantined, while the others remain', async () => {
    const late = definePlugin({
      id: 'late',
      setup: (_services, plugin) =>
        plugin.extend(
          slotFillings,
          fill(cardEnd, (_cards: readonly DiscussionRecord[]) => new Promise<never>(() => undefined)),
        ),
    });
    await using added = new AsyncDisposableStack();
    for (const plugin of [healthy, late]) added.use(await run(plugin));
    const visit = async (): Promise<readonly string[]> => {
      expect((await forum.as.ada.get('/')).text).toContain('card part of 1');
      return setAside();
    };
    await expect.poll(visit, { timeout: 20_000 }).toEqual([`late: slot ${cardEnd.id}`]);
  });
});

test(
  'disabling and enabling plugins in turn under load fails no request and quarantines nothing',
  async () => {
    const { number, id } = discussion;
    const paths = [
      '/',
      `/d/${number}-is-this-thing-on`,
      '/notifications',
      '/tags',
      '/online',
      '/search?q=thing',
      '/settings',
      '/u/ada',
      '/new',
      '/users',
      '/feeds',
      '/rss',
      '/sitemap.xml',
      '/api/discussions',
      `/api/discussions/${id}/posts`,
      '/api/notifications',
      '/api/tags',
      '/api/search?q=thing',
      '/api/presence/visitors',
      '/api/events',
    ];
    const { plugins } = forum.app.app;
    const ids = plugins
      .list()
      .filter(
        ({ id: plugin, required, state }) => !required && state === 'active' && (FULL || SWITCHED.includes(plugin)),
      )
      .map(({ id: plugin }) => plugin);
    const switches = FULL ? 100 : ids.length;
    const from = forum.app.lines.length;
    const clients = Array.from({ length: CONNECTIONS }, (_, at) => (at % 2 ? forum.as.ada : forum.app.client()));
    // On a busy machine a search may exceed its 2 s limit and report that.
    const readers = readAll({
      clients,
      paths,
      rest: REST,
      wrong: (answer) => (answer.text.includes('This search took too long') ? undefined : failed(answer)),
    });
    for (let turn = 0; turn < switches; turn++) {
      const plugin = ids[turn % ids.length]!;
      const before = readers.count;
      await plugins.disable(plugin);
      await expect.poll(() => readers.count, { timeout: 10_000, interval: 5 }).toBeGreaterThan(before);
      await plugins.enable(plugin);
    }
    expect(await readers.stop()).toEqual([]);
    expect(ids.filter((plugin) => forum.app.app.kernel.state(plugin) !== 'active')).toEqual([]);
    expect(setAside()).toEqual([]);
    expect(forum.app.lines.slice(from).filter(({ level }) => level === 'error')).toEqual([]);
  },
  FULL ? 600_000 : 180_000,
);
