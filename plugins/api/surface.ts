import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  HttpError,
  type CheckedAddress,
  type Cache,
  type Clock,
  type Environment,
  type RequestContext,
  type Http,
  type Logger,
  type Request,
  type RequestHandler,
  type Response,
  type RouteInfo,
  type Settings,
  type SurfaceBehaviour,
} from 'parley-forum';
import { accessTag, isGuest, isStaff, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Csrf, type Sessions } from 'parley-forum/plugins/accounts';
import { allowOrigin, bearerOf, loginNeeded, multipartOf, varyOf } from 'parley-forum/plugins/api';
import type { Allowance } from 'parley-forum/plugins/limits';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import { JSON_TYPE, send, successBytes } from './responses.ts';
import { Conformance } from './conformance.ts';
import { envelope, presentable } from './errors.ts';
import { KeptAnswer, KeptAnswers, keptKey, sendKept } from './cached-responses.ts';
import { bucketOf, showRate, tooManyCalls, type Rates } from './rate-limits.ts';
import type { Repeats } from './idempotency.ts';
import { Replay } from './fast-path.ts';

export interface ApiParts {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly rates: Rates;
  readonly repeats: Repeats;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly http: Http;
  readonly protection: Protection;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly log: Logger;
}

/** What is known of a request besides its viewer. */
interface Under {
  readonly bearer: boolean;
  readonly route: RouteInfo | undefined;
  /** Taken before anything is read, so that a change meanwhile keeps the answer from being kept. */
  readonly mark: number;
}

/**
 * Members' answers are kept one by one: their records may say what is theirs. The group too, since rights come with it.
 */
const callerOf = ({ id, group }: Viewer): string => (id === undefined ? '' : `${id}/${group.id}`);

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

const badToken = (): HttpError =>
  new HttpError(401, 'The bearer token is not valid', {
    code: 'invalid_token',
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
const noForgeryToken = (): HttpError =>
  new HttpError(
    403,
    'The header X-CSRF-Token is missing or not valid; its value stands in the csrf-token meta tag of every page',
    { code: 'csrf_failed' },
  );

/** How /api identifies, counts, protects, succeeds and fails. */
export class ApiSurface implements SurfaceBehaviour<Viewer, object> {
  readonly middleware: readonly RequestHandler[];
  readonly #parts: ApiParts;
  readonly #kept: KeptAnswers;
  readonly #replay: Replay;
  readonly #under = new WeakMap<Request, Under>();
  readonly #conformance: Conformance | undefined;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#kept = new KeptAnswers(parts.cache, parts.clock, () => parts.protection.headers(DATA_POLICY));
    this.#conformance = parts.environment.production ? undefined : new Conformance(parts.log);
    const refuse = (req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void =>
      this.#refuse(req, res, refusal);
    this.#replay = new Replay({
      kept: this.#kept,
      sessions: parts.sessions,
      rates: parts.rates,
      http: parts.http,
      refuse,
    });
    // A bearer token wins over the cookie, so the session behind the cookie is not even read.
    this.middleware = [
      (req, res, next) => (bearerOf(req) === undefined ? parts.sessions.middleware(req, res, next) : next()),
    ];
  }

  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    return this.#replay.answer(req, res);
  }

  async authenticate(req: Request, res: Response, route: RouteInfo | undefined): Promise<Viewer> {
    const { sessions, rates, cache } = this.#parts;
    const token = bearerOf(req);
    this.#under.set(req, { bearer: token !== undefined, route, mark: cache.mark() });
    this.#protect(req, res);
    const idle = route?.options['idle'] === true;
    const viewer =
      token === undefined
        ? await sessions.authenticate(req, res, { idle })
        : token === ''
          ? undefined
          : await sessions.authenticateBearer(token);
    const allowance = await rates.count(req, viewer, route);
    showRate(res, allowance);
    if (!viewer) throw badToken();
    if (!allowance.allowed) throw tooManyCalls(allowance);
    return viewer;
  }

  async protect({ req, actor }: RequestContext<Viewer>, { options, can }: RouteInfo): Promise<void> {
    const { access, sessions, csrf } = this.#parts;
    const write = !READS.has(req.method);
    const closed =
      options['login'] === true || (can !== 'public' && !access.allows(actor, can)) || (write && sessions.ended(req));
    if (isGuest(actor) && closed) throw loginNeeded();
    if (!write || options['csrf'] === false || this.#under.get(req)?.bearer || csrf.verify(req)) return;
    const given =
      options['form'] === true && csrf.verifiable(req) && req.is('urlencoded')
        ? ((await this.parseBody(req)) as { readonly _csrf?: unknown })._csrf
        : undefined;
    if (typeof given === 'string' && csrf.verify(req, given)) return;
    throw noForgeryToken();
  }

  /** What was kept for this caller. Guests come here with addresses that were not seen before. */
  fromCache({ req, res, actor, ...addressed }: RequestContext<Viewer> & CheckedAddress, route: RouteInfo): boolean {
    if (req.method !== 'GET') return false;
    const key = keptKey(callerOf(actor), route, addressed);
    const kept = this.#kept.find(key);
    if (!kept) return false;
    this.#spell(req, actor, key);
    sendKept(req, res, kept);
    return true;
  }

  parseBody(req: Request): Promise<unknown> {
    const route = this.#under.get(req)?.route;
    const multipart = multipartOf(route);
    if (multipart) return multipart(req);
    return this.#parts.protection.body(req, {
      form: route?.options['form'] === true,
      longText: route?.options['longText'] === true,
    });
  }

  wrap(
    call: RequestContext<Viewer> & { readonly body: unknown },
    route: RouteInfo,
    handler: () => Promise<object>,
  ): Promise<object> | undefined {
    return this.#parts.repeats.around(call, route, handler);
  }

  respond(
    { req, res, actor, ...addressed }: RequestContext<Viewer> & CheckedAddress,
    result: object,
    route: RouteInfo,
    tags: readonly string[] | undefined,
  ): void {
    const body = successBytes(result);
    const under = this.#under.get(req);
    if (tags && under && req.method === 'GET' && route.status === 200) {
      const own = actor.id === undefined ? [] : [accountTag(actor.id)];
      const key = keptKey(callerOf(actor), route, addressed);
      const terms = {
        vary: varyOf(this.#parts.settings),
        bucket: bucketOf(route),
        until: res.locals['holdsUntil'] as number | undefined,
      };
      const answer = new KeptAnswer(body, this.#parts.protection.headers(DATA_POLICY), terms);
      this.#kept.keep(answer, { key, tags: [...tags, ...own, accessTag], mark: under.mark });
      this.#spell(req, actor, key);
    }
    this.#conformance?.success(body, route);
    send(req, res, { status: route.status, type: JSON_TYPE, body });
  }

  /** Guests' addresses only: who a member is has to be found out anyway. */
  #spell(req: Request, actor: Viewer, key: string): void {
    const under = this.#under.get(req);
    if (under && isGuest(actor)) this.#kept.spell(req.originalUrl, key, under.mark);
  }

  async fail({ req, res, actor }: RequestContext<Viewer | undefined>, error: unknown): Promise<void> {
    if (res.headersSent) return void res.destroy();
    // What failed before the caller was counted is counted now: every answer says how many are left.
    if (!res.hasHeader('X-RateLimit-Limit')) {
      this.#protect(req, res);
      showRate(res, await this.#parts.rates.count(req, actor, undefined));
    }
    const route = this.#under.get(req)?.route;
    const requirement = actor?.requirement;
    const refused =
      requirement && error instanceof HttpError && error.code === 'forbidden'
        ? new HttpError(403, requirement.message, { code: requirement.code })
        : error;
    const status = this.#fail(req, res, refused, actor && isStaff(actor));
    if (route) this.#conformance?.failure(status, route);
  }

  #fail(req: IncomingMessage, res: ServerResponse, error: unknown, staff = false): number {
    const { log, http } = this.#parts;
    const requestId = http.idOf(req);
    const shown = presentable(error) ?? new HttpError(500, 'Something went wrong on the server');
    const path = req.url?.split('?', 1)[0];
    if (shown.status >= 500) log.error({ error, request: requestId, method: req.method, path }, 'an API call failed');
    if (shown.status === 401) res.setHeader('WWW-Authenticate', 'Bearer');
    for (const [name, value] of Object.entries(shown.headers)) res.setHeader(name, value);
    send(req, res, {
      status: shown.status,
      type: JSON_TYPE,
      body: Buffer.from(JSON.stringify(envelope(shown, requestId, staff))),
    });
    return shown.status;
  }

  #refuse(req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void {
    this.#protect(req, res);
    if (!(refusal instanceof Error)) showRate(res, refusal);
    this.#fail(req, res, refusal instanceof Error ? refusal : tooManyCalls(refusal));
  }

  #protect(req: IncomingMessage, res: ServerResponse): void {
    for (const [name, value] of this.#parts.protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.setHeader('Vary', varyOf(this.#parts.settings));
    res.setHeader('X-Request-Id', this.#parts.http.idOf(req));
    allowOrigin(req, res, this.#parts.settings);
  }
}
