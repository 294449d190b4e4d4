import { HttpError, type Http, type RequestHandler } from 'parley-forum';
import type { ApiRefusals } from 'parley-forum/plugins/api';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';

export interface GateDeps {
  readonly protection: Protection;
  readonly http: Http;
  /** Undefined when the API plugin is off. */
  readonly api: ApiRefusals | undefined;
  readonly installed: () => boolean;
}

/** Seconds after which an API client may retry. */
const RETRY_AFTER = '30';
const nothingInstalled = (): HttpError =>
  new HttpError(503, 'Nothing is installed here yet', { headers: { 'Retry-After': RETRY_AFTER } });
const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/** Until a forum is installed, lets only the installer through: pages redirect to it, API clients get 503. */
export function createGate({ protection, http, api, installed }: GateDeps): RequestHandler {
  return (req, res, next) => {
    if (installed() || isBelow(req.path, '/install')) return next();
    if (api && isBelow(req.path, '/api')) return void api.refuse(req, res, nothingInstalled()).catch(next);
    for (const [name, value] of protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.set({ 'Cache-Control': 'no-store', 'X-Request-Id': http.requestId(req) });
    res.redirect(302, '/install');
  };
}
