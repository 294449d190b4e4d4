import { Cache, Clock, definePlugin, Environment, Http, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { feedIdentities, feedsTag } from 'parley-forum/plugins/feeds';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Protection } from 'parley-forum/plugins/protection';
import { Tags } from 'parley-forum/ports/tags';
import { pageFeeds, Web } from 'parley-forum/plugins/web';
import { Callers } from './callers.ts';
import { FeedBuilder } from './feed-builder.ts';
import { CachedFeeds } from './cached-feeds.ts';
import { feedsOfPages } from './page-feeds.ts';
import { addRoutes } from './routes.ts';
import { Sender } from './sender.ts';
import { FeedSurface, surfaces } from './surface.ts';
import { Topics } from './topics.ts';

export default definePlugin({
  id: 'feeds',
  name: 'Feeds',
  version: '1.0.0',
  description: 'The newest discussions as RSS, Atom and JSON Feed.',
  needs: {
    cache: Cache,
    clock: Clock,
    environment: Environment,
    http: Http,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    sessions: Sessions,
    protection: Protection,
    markdown: Markdown,
    categories: Categories,
    discussions: Discussions,
    web: Web,
  },
  wants: { tags: Tags },
  extensionPoints: [feedIdentities],
  settings: Type.Object({
    'feeds.items': Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 100,
      title: 'Discussions in a feed',
      'x-group': 'feeds',
    }),
  }),
  setup(
    {
      cache,
      clock,
      environment,
      http,
      settings,
      access,
      accounts,
      sessions,
      protection,
      markdown,
      categories,
      discussions,
      web,
      tags,
    },
    plugin,
  ) {
    const callers = new Callers({ plugin, sessions });
    const sender = new Sender({ clock, http, protection, settings });
    const surface = new FeedSurface({
      callers,
      cachedFeeds: new CachedFeeds({ cache, clock }),
      sender,
      cache,
      settings,
    });
    for (const own of Object.values(surfaces)) plugin.surface(own, surface);

    const topics = new Topics({ access, accounts, categories, tags, settings, web });
    const feedBuilder = new FeedBuilder({
      discussions,
      environment,
      markdown,
      settings,
      length: () => plugin.settings['feeds.items'],
    });
    addRoutes(plugin, { topics, feedBuilder, tags });
    plugin.extend(pageFeeds, feedsOfPages({ categories, tags, settings }));
    plugin.onSettings(() => cache.purge(feedsTag));
  },
});
