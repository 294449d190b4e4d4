import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cache, definePermission, definePlugin, HttpError, Type } from 'parley-forum';
import {
  defineSlot,
  fill,
  homeRail,
  html,
  navigation,
  negotiated,
  pagerOf,
  pages,
  pageViewListeners,
  redirect,
  SafeHtml,
  sidebarSections,
  slotFillings,
  view,
  Web,
  type PageHead,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import sample from './gallery/sample.json' with { type: 'json' };

const restricted = definePermission('gallery.enter', { label: 'enter the closed room', default: 'member' });
const cardEnd = defineSlot<{ readonly number: number }>(
  'discussion-card.meta',
  'The real one’s place, for the gallery’s own rows.',
);
const postEnd = defineSlot<{ readonly number: number }>(
  'post.footer.end',
  'The real one’s place, for the gallery’s own posts.',
);

/** What the gallery's slots and watchers saw, for tests. */
export interface GalleryLog {
  readonly batches: number[];
  readonly seen: string[];
}

const { categories, titles, replies, ages } = sample;
const people = sample.people.map((username) => ({ username, avatar_url: null }));
const minutesAgo = (minutes: number): string =>
  new Date(Date.parse('2026-01-15T12:00:00Z') - minutes * 60_000).toISOString();
const card = (title: string, index: number): object => ({
  number: index + 1,
  title,
  url: `/d/${index + 1}-x`,
  author: people[index % people.length],
  category: categories[index % categories.length],
  tags: index % 3 === 1 ? sample.tags : [],
  reply_count: replies[index],
  created_at: minutesAgo(90_000),
  last_post_at: minutesAgo(ages[index] ?? 5),
  is_pinned: index === 0,
  pinned_in: index === 0 ? 'everywhere' : null,
  lock_reason: null,
  is_locked: index === 7,
  unread: index === 1 || index === 3,
});
const postHtml = [1, 2, 3].map((number) =>
  readFileSync(join(import.meta.dirname, `gallery/posts/${number}.html`), 'utf8').trim(),
);
const post = (content: string, index: number): object => ({
  number: index + 1,
  url: `/d/2/${index + 1}`,
  html: new SafeHtml(content),
  by_author: index === 0,
  author: { ...people[[3, 1, 2][index] ?? 0], group: index === 2 ? 'Moderator' : undefined },
  created_at: minutesAgo(5000 - index * 700),
  edited_at: index === 1 ? minutesAgo(3000) : undefined,
  is_deleted: false,
  actions: {
    reply: `/d/2?reply=${index + 1}`,
    menu: '/menu',
  },
});
const head = (name: string, title: string, more: Partial<PageHead> = {}): PageHead => ({ name, title, ...more });

/** A plugin whose pages show every shared piece of the theme, with its own views and texts. */
export const createGallery = (log: GalleryLog = { batches: [], seen: [] }) =>
  definePlugin({
    id: 'gallery',
    folder: join(import.meta.dirname, 'gallery'),
    needs: { Web, Cache },
    permissions: [restricted],
    setup({ Web: web, Cache: cache }, plugin) {
      plugin.extend(navigation, { area: 'main', label: 'Discussions', href: '/', icon: 'discussions' });
      plugin.extend(navigation, { area: 'main', label: 'Categories', href: '/categories', icon: 'categories' });
      plugin.extend(navigation, { area: 'main', label: 'Pieces', href: '/pieces', icon: 'puzzle' });
      plugin.extend(navigation, { area: 'account', label: 'gallery:settings', href: '/settings', icon: 'settings' });
      plugin.extend(navigation, { area: 'footer', label: 'House rules', href: '/rules' });
      plugin.extend(sidebarSections, {
        title: 'Categories',
        items: async () =>
          categories.map(({ name, slug, hue, discussion_count: count }) => ({
            label: name,
            href: `/c/${slug}`,
            hue,
            count,
          })),
      });
      plugin.extend(
        slotFillings,
        fill(cardEnd, (contexts) => {
          log.batches.push(contexts.length);
          return contexts.map(({ number }) => (number === 2 ? html`<span>solved</span>` : undefined));
        }),
      );
      const like = (number: number): SafeHtml =>
        html`<button class="button small" aria-pressed="false">♥ ${number}<span class="hidden"> likes</span></button>`;
      plugin.extend(
        slotFillings,
        fill(postEnd, (contexts) => contexts.map(({ number }) => like(number))),
      );
      plugin.extend(
        slotFillings,
        fill(homeRail, () => [html`<section><h2>Online now</h2><p>42 members, 310 guests</p></section>`]),
      );
      plugin.extend(pageViewListeners, { onPageView: ({ path }) => void log.seen.push(path) });

      const sorts = ['Latest', 'Newest', 'Most replied', 'Most viewed', 'Oldest'].map((label, index) => ({
        label,
        href: `/?sort=${index}`,
        current: index === 0,
      }));
      const Query = Type.Object({ sort: Type.Optional(Type.String()), page: Type.Optional(Type.Integer()) });
      const feeds = [{ title: 'RSS', href: '/feed/rss', type: 'application/rss+xml' }];
      plugin.route(pages, { method: 'get', path: '/', can: 'public', query: Query, cacheTags: () => ['gallery'] })(
        ({ query }) => {
          const pager = pagerOf(query.page ?? 3, 12, (page) => `/?page=${page}`);
          const about = head('home', 'Test forum', { canonical: '/', description: 'A place for boats', feeds });
          return view('@gallery/home', about, { discussions: titles.map(card), sorts, sort: query.sort, pager });
        },
      );
      plugin.route(pages, { method: 'get', path: '/empty', can: 'public' })(() =>
        view('@gallery/home', head('home', 'Empty'), { discussions: [], sorts }),
      );
      plugin.route(pages, { method: 'get', path: '/categories', can: 'public' })(() =>
        view('@gallery/categories', head('categories', 'Categories'), { categories }),
      );
      plugin.route(pages, { method: 'get', path: '/d', can: 'public' })(() => {
        const data = { '@type': 'DiscussionForumPosting', headline: '</script><b>' };
        const posts = [...postHtml.map(post), { number: 4, is_deleted: true }];
        return view(
          '@gallery/discussion',
          head('discussion', titles[1] ?? '', { canonical: '/d/2-going', structuredData: data }),
          {
            title: titles[1],
            category: categories[1],
            tags: sample.tags,
            posts,
          },
        );
      });
      const pieces = (retry?: Retry): View => {
        const typed = { values: retry?.body ?? {}, message: retry?.message, problems: retry?.problems };
        const { stats, confirm } = sample;
        const someone = { ...sample.member, joined_at: minutesAgo(900_000) };
        return view('@gallery/pieces', head('pieces', 'Pieces'), {
          ...typed,
          stats,
          confirm,
          table,
          form: web.form(schema, {}),
          member: someone,
        });
      };
      plugin.route(pages, { method: 'get', path: '/pieces', can: 'public' })(() => pieces());
      const Piece = Type.Object({
        title: Type.String({ minLength: 3 }),
        list: Type.Optional(Type.Array(Type.Object({ name: Type.String() }))),
      });
      plugin.route(pages, {
        method: 'post',
        path: '/pieces',
        can: 'public',
        body: Piece,
        options: { rerender: pieces },
      })(({ body }) => negotiated(redirect('/pieces', { notice: `Saved ${body.title}` }), { success: true, body }));
      const rerender = ({ params, body, message }: Retry): View =>
        view('@gallery/login', head('auth', 'Again'), { ...params, text: body['text'], message });
      plugin.route(pages, { method: 'post', path: '/members/:name', can: 'member', options: { rerender } })(() =>
        redirect('/'),
      );
      plugin.route(pages, { method: 'get', path: '/login', can: 'public' })(() =>
        view('@gallery/login', head('auth', 'Log in', { noindex: true }), {}),
      );
      plugin.route(pages, { method: 'get', path: '/settings', can: 'member' })(() =>
        view('@gallery/login', head('auth', 'Settings'), {}),
      );
      plugin.route(pages, { method: 'get', path: '/closed', can: restricted })(() =>
        view('@gallery/login', head('auth', 'Closed'), {}),
      );
      plugin.route(pages, { method: 'get', path: '/broken', can: 'public' })(() => {
        throw new Error('secret detail');
      });
      plugin.route(pages, { method: 'get', path: '/slow-down', can: 'public' })(() => {
        throw new HttpError(429, 'Too many tries', { headers: { 'Retry-After': '30' } });
      });
      plugin.route(pages, { method: 'post', path: '/purge', can: 'public' })(
        async () => (await cache.purge('gallery'), redirect('/')),
      );
    },
  });

const columns = [{ label: 'When' }, { label: 'Event' }, { label: 'Status', numeric: true }];
const table = {
  caption: 'Deliveries',
  columns,
  rows: sample.rows.map((cells) => ({ cells: cells.map((text, index) => ({ text, ...columns[index] })) })),
};
const order = [Type.Literal('latest', { title: 'Latest first' }), Type.Literal('oldest', { title: 'Oldest first' })];
const schema = Type.Object({
  'site.name': Type.String({ title: 'Name', maxLength: 60, default: 'Parley' }),
  about: Type.String({ title: 'About', maxLength: 2000, default: '', description: 'Shown on the front page.' }),
  size: Type.Integer({ title: 'Page size', minimum: 1, maximum: 100, default: 20 }),
  open: Type.Boolean({ title: 'Registration is open', default: true }),
  order: Type.Union(order, { title: 'Order', default: 'latest' }),
  proxies: Type.Array(Type.String(), { title: 'Trusted proxies', default: ['10.0.0.0/8'], 'x-group': 'security' }),
  key: Type.String({ title: 'Key', 'x-secret': true, default: '', 'x-group': 'security' }),
});
