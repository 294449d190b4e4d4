import { join } from 'node:path';
import { Cache, definePlugin, Environment, Http, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { Protection } from 'parley-forum/plugins/protection';
import { Tags } from 'parley-forum/ports/tags';
import { PublicUrls } from './public-urls.ts';
import { SitemapFiles } from './sitemap-files.ts';
import { addRoutes } from './routes.ts';
import { Sitemap } from './sitemap.ts';
import { CrawlerSurface, surfaces } from './surface.ts';

export default definePlugin({
  id: 'sitemap',
  name: 'Sitemap',
  version: '1.0.0',
  description: '/sitemap.xml and /robots.txt for search engines.',
  needs: {
    cache: Cache,
    environment: Environment,
    http: Http,
    access: Access,
    protection: Protection,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { tags: Tags },
  settings: Type.Object({
    'sitemap.addresses': Type.Integer({
      default: 50_000,
      minimum: 2,
      maximum: 50_000,
      title: 'Addresses per sitemap file',
      'x-group': 'feeds',
      description: 'Larger sitemaps are split into several files with an index.',
    }),
    'sitemap.files': Type.Boolean({
      default: true,
      title: 'Write the sitemap to files',
      'x-group': 'feeds',
      description: 'Keeps a copy in the folder public of the data directory, for a web server in front of the forum.',
    }),
  }),
  setup({ cache, environment, http, access, protection, categories, discussions, tags }, plugin) {
    const publicUrls = new PublicUrls({ access, categories, discussions, tags });
    const sitemap = new Sitemap({
      publicUrls,
      cache,
      baseUrl: environment.baseUrl,
      maxUrls: () => plugin.settings['sitemap.addresses'],
    });
    const surface = new CrawlerSurface({ http, protection });
    for (const own of Object.values(surfaces)) plugin.surface(own, surface);
    addRoutes(plugin, sitemap, environment.baseUrl);
    const folder = join(environment.dataDir, 'public');
    const files = new SitemapFiles({
      sitemap,
      cache,
      folder,
      enabled: () => plugin.settings['sitemap.files'],
      log: plugin.log,
    });
    plugin.defer(files.start());
    plugin.onSettings(() => sitemap.purge());
  },
});
