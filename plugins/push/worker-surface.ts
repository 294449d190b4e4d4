import {
  defineSurface,
  etagOf,
  isFresh,
  type AnonymousContext,
  type Exchange,
  type Http,
  type HttpError,
  type PluginHandle,
  type Request,
  type Response,
  type Settings,
  type SurfaceBehaviour,
} from 'parley-forum';
import { DATA_POLICY, type Policy, type Protection } from 'parley-forum/plugins/protection';
import { html, type Web } from 'parley-forum/plugins/web';

/** At the root, so that the worker is responsible for all pages. The same for everyone. */
const surface = defineSurface<AnonymousContext, string>('push-worker', { prefix: '/push-worker.js' });

/** What the worker itself may load: its own code, and the pages whose requests it passes on. */
const WORKER_POLICY: Policy = { ...DATA_POLICY, 'script-src': ["'self'"], 'connect-src': ["'self'"] };

export interface WorkerDeps {
  readonly http: Http;
  readonly protection: Protection;
  readonly settings: Settings;
  readonly web: Web;
}

class WorkerSurface implements SurfaceBehaviour<AnonymousContext, string> {
  readonly #deps: Pick<WorkerDeps, 'http' | 'protection'>;

  constructor(deps: Pick<WorkerDeps, 'http' | 'protection'>) {
    this.#deps = deps;
  }

  authenticate(): AnonymousContext {
    return { actor: undefined };
  }

  respond({ req, res }: Exchange, script: string): void {
    const body = Buffer.from(script);
    const etag = etagOf(body);
    this.#setHeaders(req, res, WORKER_POLICY, { 'Cache-Control': 'no-cache', ETag: etag });
    if (isFresh(req, etag)) return void res.status(304).end();
    res.set({ 'Content-Type': 'text/javascript; charset=utf-8', 'Content-Length': String(body.length) });
    res.end(req.method === 'HEAD' ? undefined : body);
  }

  fail({ req, res }: Exchange, { status, message, code, headers }: HttpError): void {
    if (res.headersSent) return void res.destroy();
    this.#setHeaders(req, res, DATA_POLICY, { 'Cache-Control': 'no-store', ...headers });
    res.status(status).json({ success: false, error: message, code, request_id: this.#deps.http.requestId(req) });
  }

  #setHeaders(req: Request, res: Response, policy: Policy, headers: Readonly<Record<string, string>>): void {
    const { http, protection } = this.#deps;
    for (const [name, value] of protection.headers(policy)) res.setHeader(name, value);
    res.set({ ...headers, 'X-Request-Id': http.requestId(req) });
  }
}

/**
 * Serves the service worker: its module, and the texts that it shows in the language of the site. Browsers fetch it
 * again after visits, and replace the worker if anything in it has changed.
 */
export function serveWorker(plugin: PluginHandle, { settings, web, ...deps }: WorkerDeps): void {
  plugin.surface(surface, new WorkerSurface(deps));
  plugin.route(surface, {
    method: 'get',
    path: '/',
    can: 'public',
    summary: 'The service worker, which shows pushed notifications and the offline page',
  })(() => {
    const site = String(settings.get('site.name') ?? '');
    const texts = JSON.stringify({ site, offline: offlinePage(site, web) });
    return `self.texts=${texts};\nimportScripts(${JSON.stringify(web.asset('push', 'push-worker.js'))});\n`;
  });
}

/** A page that loads nothing. Its link leads to the page that could not be loaded. */
function offlinePage(site: string, web: Web): string {
  const { light, dark } = web.colours;
  const text = (key: string): string => web.text(`push:offline.${key}`);
  const title = `${text('title')} · ${site}`;
  const style = html`<style>
    :root { color-scheme: light dark; color: light-dark(#1c1c1c, #ededed); background: light-dark(${light}, ${dark}); }
    body { max-inline-size: 34rem; margin: 15vh auto; padding-inline: 1rem; font: 1rem/1.6 system-ui, sans-serif; }
    h1 { font-size: 1.5rem; line-height: 1.3; }
    a { display: inline-block; padding: .5rem 1rem; border: 1px solid; border-radius: .5rem; color: inherit; text-decoration: none; }
  </style>`;
  return html`<!doctype html><html lang="${web.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>${style}</head><body dir="auto"><main><p>${site}</p><h1>${text('title')}</h1><p>${text('text')}</p><p><a href="">${text('again')}</a></p></main></body></html>`.toString();
}
