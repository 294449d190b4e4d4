import compression from 'compression';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './address.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';
import type { RouteRegistry } from './routes.ts';

/** What the connection tells about a request, seen through the trusted proxies. */
export interface Http {
  /** The client's address; forwarded headers count only from trusted proxies. */
  addressOf(req: IncomingMessage): string;
  /** True when the client speaks https, to us or to a trusted proxy. */
  secure(req: IncomingMessage): boolean;
  /** Identifies the request in logs and error answers. */
  idOf(req: IncomingMessage): string;
}
export const Http = defineToken<Http>('Http');

const ids = new WeakMap<IncomingMessage, string>();
const PROCESS = crypto.randomUUID().slice(0, 8);
let counter = 0;

/** Unique over processes, cheap to make: the process's random part and a count. */
function requestId(req: IncomingMessage): string {
  let id = ids.get(req);
  if (!id) ids.set(req, (id = `${PROCESS}-${(++counter).toString(36)}`));
  return id;
}

export const createHttp = (proxies: TrustedProxies): Http => ({
  addressOf: (req) => proxies.addressOf(req),
  secure: (req) => proxies.secure(req),
  idOf: requestId,
});

/** How a dependency's health is asked, by name; used by GET /readyz. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

/** The Express application: health, then the plugins' surfaces, then a last answer that depends on nothing. */
export function createApplication({ routes, log, checks }: { routes: RouteRegistry; log: Logger; checks: Checks }): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Query strings stay flat: nested keys would be a way around the schemas.
  app.set('query parser', 'simple');
  app.get('/healthz', (_req, res) => void res.json({ success: true }));
  app.get('/readyz', (_req, res, next) => {
    readiness(checks).then((state) => res.status(state.success ? 200 : 503).json(state), next);
  });
  app.use(compression());
  app.use(routes.middleware);
  app.use((req, res) => void res.status(404).type('text/plain').send(`Nothing answers ${req.method} here.\n`));
  app.use((error: unknown, req: Request, res: Response, next: NextFunction) => {
    log.error({ error, request: requestId(req) }, 'a request failed outside every surface');
    if (res.headersSent) return next(error);
    res.status(500).type('text/plain').send(`Something went wrong. Request ${requestId(req)}.\n`);
  });
  return app;
}

async function readiness(checks: Checks): Promise<{ success: boolean; checks: Record<string, string> }> {
  const results = await Promise.all(Object.entries(checks).map(async ([name, run]) => [name, await run().then(() => 'ok', () => 'unreachable')] as const));
  return { success: results.every(([, state]) => state === 'ok'), checks: Object.fromEntries(results) };
}
