import { randomUUID } from 'node:crypto';
import { constants } from 'node:zlib';
import compression from 'compression';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { Http } from '../http/http.ts';
import type { RequestQueue } from '../http/request-queue.ts';
import type { Logger } from '../logger.ts';
import type { RequestHandler, RouteRegistry } from '../http/routes.ts';

/** How GET /readyz asks one dependency. */
export interface Check {
  /**
   * Resolves to `ok`, or to the word for what it cannot do, such as `read-only`; rejects where it cannot be reached.
   */
  ask(): Promise<string>;
  /** Whether nothing can be served while it cannot be reached. */
  readonly needed: boolean;
}

/**
 * What is made for one reader is compressed for one. A step less than usual and a window of 64 KiB, in which a page fits,
 * halve its 1.3 ms, most of which was room for a window of 4 MiB, and cost 4 % of its bytes.
 */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 16 };
/** Milliseconds that /readyz waits for an answer. */
const READY = 2_000;
const UNREACHABLE = 'unreachable';

interface ExpressAppDeps {
  readonly routes: RouteRegistry;
  readonly log: Logger;
  /** By name. */
  readonly checks: Readonly<Record<string, Check>>;
  /** The process is about to stop: proxies that ask shall send requests elsewhere. */
  draining?(): boolean;
  /** Where requests wait for their turn, unless all are answered at once. */
  readonly queue?: RequestQueue | undefined;
  /** In front of the surfaces. */
  readonly gate?: RequestHandler | undefined;
}

/** The Express application: health, then the queue for the plugins' surfaces, then a last answer that depends on nothing. */
export function createExpressApp({
  routes,
  log,
  checks,
  draining = () => false,
  queue,
  gate,
}: ExpressAppDeps): Express {
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
  app.get('/readyz', (req, res, next) => {
    if (draining()) return void bare(res).status(503).json({ success: false, draining: true });
    readiness(checks, 'strict' in req.query).then(
      (state) =>
        bare(res)
          .status(state.success ? 200 : 503)
          .json(state),
      next,
    );
  });
  app.options(
    ['/healthz', '/readyz'],
    (_req, res) => void bare(res).status(204).set('Allow', 'GET, HEAD, OPTIONS').end(),
  );
  // Health is not kept waiting by those who wait.
  if (queue) app.use(queue.middleware);
  app.use(compression({ brotli: { params: BROTLI } }));
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

/** Ready while it serves; with `strict`, while nothing at all is missing. */
async function readiness(
  checks: ExpressAppDeps['checks'],
  strict: boolean,
): Promise<{ success: boolean; checks: Record<string, string> }> {
  const silent = new Promise<never>(
    (_, reject) => void setTimeout(() => reject(new Error('no answer')), READY).unref(),
  );
  silent.catch(() => undefined);
  const states = await Promise.all(
    Object.entries(checks).map(async ([name, { ask, needed }]) => {
      const state = await Promise.race([ask(), silent]).catch(() => UNREACHABLE);
      return { name, state, ready: state === 'ok' || (!strict && !(needed && state === UNREACHABLE)) };
    }),
  );
  return {
    success: states.every(({ ready }) => ready),
    checks: Object.fromEntries(states.map(({ name, state }) => [name, state])),
  };
}
