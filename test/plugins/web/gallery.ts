import { join } from 'node:path';
import { Cache, definePermission, definePlugin, HttpError, Type } from '#core';
import { defineSlot, fill, html, navigation, negotiated, pagerOf, pages, pageWatchers, redirect, SafeHtml, sidebarSections, slotFillings, view, Web, type PageHead, type Retry } from '#plugins/web';

const restricted = definePermission('gallery.enter', { label: 'enter the closed room', default: 'member' });
const cardEnd = defineSlot<{ readonly number: number }>('discussion-card.meta');
const postEnd = defineSlot<{ readonly number: number }>('post.footer.end');
const rail = defineSlot<object>('rail.home');

/** What the gallery's slots and watchers saw, for tests. */
export interface GalleryLog {
  readonly batches: number[];
  readonly seen: string[];
}

const categories = [
  { slug: 'announcements', name: 'Announcements', description: 'News from the harbour office: meets, releases, rules.', hue: 205, icon: 'megaphone', discussion_count: 15 },
  { slug: 'engines', name: 'Engines & electrics', description: 'Diesels, outboards, batteries, solar and the smell of hot wires.', hue: 45, icon: 'bolt', discussion_count: 128 },
  { slug: 'wood', name: 'Wood, hulls & rigs', description: 'Planking, glue, spars, sails and everything that holds a boat together.', hue: 75, icon: 'hammer', discussion_count: 64 },
  { slug: 'code', name: 'Code & instruments', description: 'Sensors, NMEA, Signal K, plotters and the little programs between them.', hue: 270, icon: 'chip', discussion_count: 31 },
  { slug: 'places', name: 'Passages & places', description: 'Where you went, how it was, and whether the anchor held.', hue: 150, icon: 'compass', discussion_count: 1 },
];
const people = ['ingrid', 'petra.s', 'oldjack', 'joao.vela', 'yasmin.h', 'stellan', 'tuckahoe', 'lena-w'].map((username) => ({ username, avatar_url: null }));
const titles = [
  'Read before you wire: fuses, and why both ends', 'Going LiFePO4: what actually happens to my old alternator?', 'Electric Folkboat, one year on: what we measured, what broke, and what I would do differently if I had the winter again',
  'نواة الإسكندرية: أين نرسو في الشتاء؟', 'Bilge pump cycles all night', 'The barograph on an e-paper display', 'Hello from the mail boat', 'Crimp or solder?',
];
const minutesAgo = (minutes: number): string => new Date(Date.parse('2026-01-15T12:00:00Z') - minutes * 60_000).toISOString();
const card = (title: string, index: number): object => ({
  number: index + 1, title, url: `/d/${index + 1}-x`, author: people[index % people.length], category: categories[index % categories.length],
  tags: index % 3 === 1 ? [{ slug: 'lithium', name: 'lithium' }, { slug: 'charging', name: 'charging' }] : [], reply_count: [41, 18, 7, 3, 0, 112, 1, 26][index] ?? 0,
  is_pinned: index === 0, is_locked: index === 7, unread: index === 1 || index === 3, created_at: minutesAgo(90_000), last_post_at: minutesAgo([12, 185, 1500, 4000, 9000, 30_000, 90_000, 700_000][index] ?? 5),
});
const postHtml = [
  '<p>The house battery is dead (nine years, no complaints, rest in peace). I want one 100&nbsp;Ah LiFePO4 with a built-in BMS. The engine has a 55&nbsp;A alternator with its regulator inside, older than my nephew.</p><p>Half the internet says “drop-in replacement”. The other half says my alternator will melt and then explode. <strong>Which half, please?</strong></p>',
  '<blockquote><p>The other half says my alternator will melt and then explode.</p></blockquote><p>Both halves have a point and neither has the reason. Two different failures:</p><ul><li><strong>Melt.</strong> A small alternator rated 55&nbsp;A is rated that <em>cold</em>.</li><li><strong>Explode.</strong> If the BMS decides to disconnect while charging, that current has nowhere to go.</li></ul><pre tabindex="0"><code>V = L · di/dt   # and that is how a plotter dies; this line is long enough to need scrolling on every telephone</code></pre><p>See <a href="/d/1">the pinned thread</a>, and mind <code>BMS_DISCONNECT</code>.</p>',
  '<p>For the record I changed nine burnt alternators last year and seven of them were on boats with a shiny new lithium and a leaflet that said drop-in.</p>',
];
const post = (content: string, index: number): object => ({
  number: index + 1, url: `/d/2/${index + 1}`, html: new SafeHtml(content), author: { ...people[[3, 1, 2][index] ?? 0], group: index === 2 ? 'Moderator' : undefined }, by_author: index === 0,
  created_at: minutesAgo(5000 - index * 700), edited_at: index === 1 ? minutesAgo(3000) : undefined, is_deleted: false,
  actions: { reply: `/d/2?reply=${index + 1}`, more: true, quote: `/d/2?quote=${index + 1}`, edit: '/edit', report: '/report', delete: '/delete' },
});
const head = (name: string, title: string, more: Partial<PageHead> = {}): PageHead => ({ name, title, ...more });

/** A plugin whose pages show every shared piece of the theme, with views and texts of its own. */
export const createGallery = (log: GalleryLog = { batches: [], seen: [] }) =>
  definePlugin({
    id: 'gallery', folder: join(import.meta.dirname, 'gallery'),
    needs: { Web, Cache }, permissions: [restricted],
    setup({ Web: web, Cache: cache }, plugin) {
      plugin.extend(navigation, { area: 'main', label: 'Discussions', href: '/', icon: 'discussions' });
      plugin.extend(navigation, { area: 'main', label: 'Categories', href: '/categories', icon: 'categories' });
      plugin.extend(navigation, { area: 'main', label: 'Pieces', href: '/pieces', icon: 'puzzle' });
      plugin.extend(navigation, { area: 'account', label: 'gallery:settings', href: '/settings', icon: 'settings' });
      plugin.extend(navigation, { area: 'footer', label: 'House rules', href: '/rules' });
      plugin.extend(sidebarSections, { title: 'Categories', items: async () => categories.map(({ name, slug, hue, discussion_count: count }) => ({ label: name, href: `/c/${slug}`, hue, count })) });
      plugin.extend(slotFillings, fill(cardEnd, (contexts) => (log.batches.push(contexts.length), contexts.map(({ number }) => (number === 2 ? html`<span>solved</span>` : undefined)))));
      plugin.extend(slotFillings, fill(postEnd, (contexts) => contexts.map(({ number }) => html`<button class="button small" aria-pressed="false">♥ ${number}<span class="hidden"> likes</span></button>`)));
      plugin.extend(slotFillings, fill(rail, () => [html`<section><h2>Online now</h2><p>42 members, 310 guests</p></section>`]));
      plugin.extend(pageWatchers, { seen: ({ path }) => void log.seen.push(path) });

      const sorts = ['Latest', 'Newest', 'Most replied', 'Most viewed', 'Oldest'].map((label, index) => ({ label, href: `/?sort=${index}`, current: index === 0 }));
      plugin.route(pages, { method: 'get', path: '/', can: 'public', query: Type.Object({ sort: Type.Optional(Type.String()), page: Type.Optional(Type.Integer()) }), keep: () => ['gallery'] })(({ query }) =>
        view('@gallery/home', head('home', 'Test forum', { canonical: '/', description: 'A place for boats', feeds: [{ title: 'RSS', href: '/feed/rss', type: 'rss' }] }), { discussions: titles.map(card), sorts, sort: query.sort, pager: pagerOf(query.page ?? 3, 12, (page) => `/?page=${page}`) }));
      plugin.route(pages, { method: 'get', path: '/empty', can: 'public' })(() => view('@gallery/home', head('home', 'Empty'), { discussions: [], sorts }));
      plugin.route(pages, { method: 'get', path: '/categories', can: 'public' })(() => view('@gallery/categories', head('categories', 'Categories'), { categories }));
      plugin.route(pages, { method: 'get', path: '/d', can: 'public' })(() =>
        view('@gallery/discussion', head('discussion', titles[1] ?? '', { canonical: '/d/2-going', data: { '@type': 'DiscussionForumPosting', headline: '</script><b>' } }), { title: titles[1], category: categories[1], tags: [{ slug: 'lithium', name: 'lithium' }], posts: [...postHtml.map(post), { number: 4, is_deleted: true }] }));
      const pieces = (retry?: Retry) => view('@gallery/pieces', head('pieces', 'Pieces'), { values: retry?.body ?? {}, message: retry?.message, problems: retry?.problems, stats, table, form: web.form(schema, {}), confirm: { title: 'Delete “Hello”?', text: 'It cannot be brought back.', action: '/pieces', submit: 'Delete', cancel: '/' }, member: { username: 'mira.k', avatar_url: null, bio: 'Shipwright in Gdańsk. I ask about the bevel first.', group: { name: 'Moderator' }, joined_at: minutesAgo(900_000), post_count: 1412 } });
      plugin.route(pages, { method: 'get', path: '/pieces', can: 'public' })(() => pieces());
      plugin.route(pages, { method: 'post', path: '/pieces', can: 'public', body: Type.Object({ title: Type.String({ minLength: 3 }), list: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))) }), options: { again: pieces } })(({ body }) => negotiated(redirect('/pieces', { notice: `Saved ${body.title}` }), { success: true, body }));
      plugin.route(pages, { method: 'post', path: '/members/:name', can: 'public', options: { login: true, again: (retry: Retry) => view('@gallery/login', head('auth', 'Again'), { ...retry.params, text: retry.body['text'], message: retry.message }) } })(() => redirect('/'));
      plugin.route(pages, { method: 'get', path: '/login', can: 'public' })(() => view('@gallery/login', head('auth', 'Log in', { hidden: true }), {}));
      plugin.route(pages, { method: 'get', path: '/settings', can: 'public', options: { login: true } })(() => view('@gallery/login', head('auth', 'Settings'), {}));
      plugin.route(pages, { method: 'get', path: '/closed', can: restricted })(() => view('@gallery/login', head('auth', 'Closed'), {}));
      plugin.route(pages, { method: 'get', path: '/broken', can: 'public' })(() => {
        throw new Error('secret detail');
      });
      plugin.route(pages, { method: 'get', path: '/slow-down', can: 'public' })(() => {
        throw new HttpError(429, 'Too many tries', { headers: { 'Retry-After': '30' } });
      });
      plugin.route(pages, { method: 'post', path: '/purge', can: 'public' })(async () => (await cache.purge('gallery'), redirect('/')));
    },
  });

const stats = [{ label: 'Members', text: '1,204' }, { label: 'Database', text: 'Healthy', state: 'good' }, { label: 'Mail', text: 'Not set up', state: 'warning', note: 'Nothing is sent' }, { label: 'Failed jobs', text: '7', state: 'bad', href: '/jobs' }];
const table = { caption: 'Deliveries', columns: [{ label: 'When' }, { label: 'Event' }, { label: 'Status', numeric: true }], rows: [['12:04', 'post.created', '200'], ['12:03', 'discussion.created', '502']].map((cells) => ({ cells: cells.map((text, index) => ({ text, label: ['When', 'Event', 'Status'][index], numeric: index === 2 })) })) };
const schema = Type.Object({
  'site.name': Type.String({ title: 'Name', maxLength: 60, default: 'Parley' }), about: Type.String({ title: 'About', maxLength: 2000, default: '', description: 'Shown on the front page.' }),
  size: Type.Integer({ title: 'Page size', minimum: 1, maximum: 100, default: 20 }), open: Type.Boolean({ title: 'Registration is open', default: true }),
  order: Type.Union([Type.Literal('latest', { title: 'Latest first' }), Type.Literal('oldest', { title: 'Oldest first' })], { title: 'Order', default: 'latest' }),
  proxies: Type.Array(Type.String(), { title: 'Trusted proxies', default: ['10.0.0.0/8'], 'x-group': 'security' }), key: Type.String({ title: 'Key', 'x-secret': true, default: '', 'x-group': 'security' }),
});
