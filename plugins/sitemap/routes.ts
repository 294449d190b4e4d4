import { gzipSync } from 'node:zlib';
import { notFound, type PluginHandle } from 'parley-forum';
import { SITEMAP } from 'parley-forum/plugins/sitemap';
import { ROOT_DOCUMENT, type Sitemap } from './sitemap.ts';
import { surfaces, type CrawlerDocument } from './surface.ts';

/** Paths that are for members only, for API clients, or endless. */
const DISALLOWED = [
  '/admin',
  '/api/',
  '/login',
  '/mod',
  '/new',
  '/notifications',
  '/password/',
  '/register',
  '/search',
  '/settings',
];
const XML = 'application/xml; charset=utf-8';

export function addRoutes(plugin: PluginHandle, sitemap: Sitemap, baseUrl: string): void {
  const send = async (name: string): Promise<CrawlerDocument> => ({ type: XML, gzipped: await sitemap.document(name) });
  plugin.route(surfaces.sitemap, {
    method: 'get',
    path: '/',
    can: 'public',
    summary: 'The sitemap of what guests can see, or the index of its parts',
  })(() => send(ROOT_DOCUMENT));

  plugin.route(surfaces.parts, { method: 'get', path: '/:file', can: 'public', summary: 'A part of a large sitemap' })(
    ({ params }) => {
      const name = /^(\w+-\d+)\.xml$/.exec(params['file'] ?? '')?.[1];
      if (name === undefined) throw notFound();
      return send(name);
    },
  );

  const text = `User-agent: *\n${DISALLOWED.map((path) => `Disallow: ${path}\n`).join('')}\nSitemap: ${baseUrl}${SITEMAP}\n`;
  const gzipped = gzipSync(text);
  plugin.route(surfaces.robots, {
    method: 'get',
    path: '/',
    can: 'public',
    summary: 'What crawlers are asked not to visit, and where the sitemap is',
  })(() => ({ type: 'text/plain; charset=utf-8', gzipped }));
}
