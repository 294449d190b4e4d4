import { readFile } from 'node:fs/promises';
import {
  type Environment,
  type PluginHandle,
  type Request,
  type Response,
  type Routes,
  type Settings,
} from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import { send } from '../responses.ts';
import { docsPage } from './docs-page.ts';
import { describe, type OpenApi } from './openapi.ts';

interface OpenApiDeps {
  readonly routes: Routes;
  readonly settings: Settings;
  readonly environment: Environment;
}
interface DocsDeps extends OpenApiDeps {
  readonly protection: Protection;
}
interface RenderedDocs {
  readonly openapi: Buffer;
  readonly page: Buffer;
}

/** The HTML page has its own style sheet and no scripts at all. */
const DOCUMENT_POLICY = {
  ...DATA_POLICY,
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'frame-ancestors': ["'self'"],
};

/** Describes every API route that is currently running. */
export function openApi({ routes, settings, environment }: OpenApiDeps): OpenApi {
  const own = routes.list().filter(({ surface }) => surface.id === api.id);
  return describe(own, {
    title: `${String(settings.get('site.name') ?? 'Forum')} API`,
    version: environment.version,
    url: environment.baseUrl,
  });
}

/**
 * Adds routes that serve the API description to programs and people; rendered on the first request after plugins
 * started or stopped.
 */
export function addDocs(plugin: PluginHandle, { protection, ...sources }: DocsDeps): { forget(): void } {
  const policy = (): string =>
    protection.headers(DOCUMENT_POLICY).find(([name]) => name === 'Content-Security-Policy')?.[1] ?? '';
  let made: RenderedDocs | undefined;
  const make = (): RenderedDocs => {
    const document = openApi(sources);
    return { openapi: Buffer.from(JSON.stringify(document)), page: Buffer.from(docsPage(document).toString()) };
  };
  const answer = (req: Request, res: Response, type: string, body: Buffer): void =>
    send(req, res, { status: 200, type, body });

  plugin.route(api, {
    method: 'get',
    path: '/openapi.json',
    summary: 'This description as OpenAPI 3.1',
    can: 'public',
    options: { document: 'application/json' },
  })(({ req, res }) => answer(req, res, 'application/json; charset=utf-8', (made ??= make()).openapi));
  plugin.route(api, {
    method: 'get',
    path: '/docs',
    summary: 'This description as a web page',
    can: 'public',
    options: { document: 'text/html' },
  })(({ req, res }) => {
    res.setHeader('Content-Security-Policy', policy());
    answer(req, res, 'text/html; charset=utf-8', (made ??= make()).page);
  });
  const sheet = readFile(new URL('./docs.css', import.meta.url));
  plugin.route(api, {
    method: 'get',
    path: '/docs/style.css',
    summary: 'The style sheet of that page',
    can: 'public',
    options: { document: 'text/css' },
  })(async ({ req, res }) => answer(req, res, 'text/css; charset=utf-8', await sheet));
  return { forget: () => (made = undefined) };
}
