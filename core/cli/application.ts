import { randomUUID } from 'node:crypto';
import compression from 'compression';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { Http } from '../http.ts';
import type { Logger } from '../logger.ts';
import type { RequestHandler, RouteRegistry } from '../routes.ts';

/** How a dependency's health is asked, by name; used by GET /readyz. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>;

/** Milliseconds that /readyz waits for an answer. */
const READY = 2_000;

interface Parts {
  readonly routes: RouteRegistry;
  readonly log: Logger;
  readonly checks: Checks;
  /** In front of the surfaces. */
  readonly gate?: RequestHandler | undefined;
}

/** The Express application: health, then the plugins' surfaces, then a last answer that depends on nothing. */
export function createApplication({ routes, log, checks, gate }: Parts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Query strings stay flat: nested keys would be a way around the schemas.
  app.set('query parser', 'simple');
  const bare = (res: Response): Response => {
    routes.service(Http)?.protect(res);
    return res;
  };
  app.get('/healthz', (_req, res) => void bare(res).json({ success: true }));
  app.get('/readyz', (_req, res, next) => {
    readiness(checks).then((state) => bare(res).status(state.success ? 200 : 503).json(state), next);
  });
  app.use(compression());
  if (gate) app.use(gate);
  app.use(routes.middleware);
  app.use((req, res) => void bare(res).status(404).type('text/plain').send(`Nothing answers ${req.method} here.\n`));
  app.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    const request = randomUUID();
    log.error({ error, request }, 'a request failed outside every surface');
    if (res.headersSent) return next(error);
    bare(res).status(500).type('text/plain').send(`Something went wrong. Request ${request}.\n`);
  });
  return app;
}

async function readiness(checks: Checks): Promise<{ success: boolean; checks: Record<string, string> }> {
  const silent = new Promise<never>((_, reject) => void setTimeout(() => reject(new Error('no answer')), READY).unref());
  const results = await Promise.all(Object.entries(checks).map(async ([name, run]) => [name, await Promise.race([run(), silent]).then(() => 'ok', () => 'unreachable')] as const));
  return { success: results.every(([, state]) => state === 'ok'), checks: Object.fromEntries(results) };
}
