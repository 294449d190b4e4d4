import { randomUUID } from 'node:crypto';
import { constants } from 'node:zlib';
import compression from 'compression';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { Http } from '../http/http.ts';
import type { RequestQueue } from '../http/request-queue.ts';
import type { Logger } from '../logger.ts';
import type { RequestHandler, RouteRegistry } from '../http/routes.ts';

/** The readiness check of one dependency, for GET /readyz. */
export interface Check {
  /**
   * Resolves to `ok`, or to a word for the limitation, such as `read-only`; rejects if the dependency cannot be
   * reached.
   */
  ask(): Promise<string>;
  /** Whether no requests can be served while the dependency is unreachable. */
  readonly needed: boolean;
}

/**
 * Personal responses are compressed for one reader only. One quality step less than usual and a 64 KiB window, into
 * which a page fits, halve the 1.3 ms that takes, most of which went into allocating a 4 MiB window, and make responses
 * 4 % larger.
 */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 16 };
/** Milliseconds that /readyz waits for each check. */
const READY = 2_000;
const UNREACHABLE = 'unreachable';

interface ExpressAppDeps {
  readonly routes: RouteRegistry;
  readonly log: Logger;
  /** By name. */
  readonly checks: Readonly<Record<string, Check>>;
  /** Whether the process is about to stop, so that proxies send requests elsewhere. */
  draining?(): boolean;
  /** Queues requests; without it all of them are handled at once. */
  readonly queue?: RequestQueue | undefined;
  /** Runs before the surfaces. */
  readonly gate?: RequestHandler | undefined;
}

/**
 * The Express application: health checks, then the queue and the plugins' surfaces, then fallback responses that depend
 * on nothing.
 */
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
  // Added after the health checks, which must not be queued.
  if (queue) app.use(queue.middleware);
  app.use(compression({ brotli: { params: BROTLI } }));
  if (gate) app.use(gate);
  app.use(routes.middleware);
  app.use(
    (req, res) => void bare(res).status(404).type('text/plain').send(`There is no route for ${req.method} here.\n`),
  );
  app.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    const request = randomUUID();
    log.error({ error, request }, 'a request failed outside any surface');
    if (res.headersSent) return next(error);
    bare(res).status(500).type('text/plain').send(`Something went wrong. Request ${request}.\n`);
  });
  return app;
}

/** Ready while requests can be served; with `strict`, only while no dependency is missing or limited. */
async function readiness(
  checks: ExpressAppDeps['checks'],
  strict: boolean,
): Promise<{ success: boolean; checks: Record<string, string> }> {
  const silent = new Promise<never>(
    (_, reject) => void setTimeout(() => reject(new Error('no response')), READY).unref(),
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
