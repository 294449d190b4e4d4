import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  failureOf,
  HttpError,
  type CheckedUrl,
  type Exchange,
  type Cache,
  type Clock,
  type Environment,
  type RequestContext,
  type Http,
  type Logger,
  type RequestHandler,
  type Routes,
  type Settings,
  type SurfaceBehaviour,
} from 'parley-forum';
import { accessTag, isGuest, isStaff, mayCall, type Access, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Csrf, type Sessions } from 'parley-forum/plugins/accounts';
import {
  allowOrigin,
  isPreflight,
  bearerToken,
  loginNeeded,
  varyHeader,
  type ApiContext,
  type ApiOptions,
  type ErrorTranslator,
} from 'parley-forum/plugins/api';
import type { Allowance } from 'parley-forum/plugins/limits';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import { JSON_TYPE, outcomeOf, send, setLocation, successBytes } from './responses.ts';
import { Conformance } from './conformance.ts';
import { errorEnvelope } from './errors.ts';
import { CachedResponse, CachedResponses, responseKey, sendCached } from './cached-responses.ts';
import { setRateHeaders, tooManyRequests, type RateLimits } from './rate-limits.ts';
import type { Idempotency } from './idempotency.ts';
import { FastPath } from './fast-path.ts';
import { CONDITION, ifUnchanged, isChange } from './preconditions.ts';
import { Turns } from './turns.ts';

export interface ApiSurfaceDeps {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly rateLimits: RateLimits;
  readonly idempotency: Idempotency;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly http: Http;
  readonly protection: Protection;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly routes: Routes;
  readonly log: Logger;
  errorTranslators(): readonly ErrorTranslator[];
}

/** The surface's own request context, in addition to what handlers get. */
interface OwnContext extends ApiContext {
  /** Whether the caller is authenticated by a token rather than a cookie. */
  readonly bearer: boolean;
  /** Taken before anything is read, so that the response is not cached if data changes in the meantime. */
  readonly cacheVersion: number;
}
type ApiRequest = RequestContext<OwnContext, ApiOptions>;

/**
 * Each member has their own cached responses, as records may contain private fields; and each of a member's groups as
 * well.
 */
const callerOf = ({ id, group }: Viewer): string => (id === undefined ? '' : `${id}/${group.id}`);

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const badToken = (): HttpError =>
  new HttpError(401, 'The bearer token is not valid', {
    code: 'invalid_token',
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
const csrfFailed = (): HttpError =>
  new HttpError(
    403,
    'The header X-CSRF-Token is missing or not valid; its value is in the csrf-token meta tag of every page',
    { code: 'csrf_failed' },
  );

/** Defines how /api authenticates, rate-limits, protects, responds and fails. */
export class ApiSurface implements SurfaceBehaviour<ApiContext, object, ApiOptions, OwnContext> {
  readonly middleware: readonly RequestHandler[];
  readonly #deps: ApiSurfaceDeps;
  readonly #cachedResponses: CachedResponses;
  /** Conditional changes, by address. */
  readonly #changes = new Turns();
  readonly #fastPath: FastPath;
  readonly #conformance: Conformance | undefined;

  constructor(deps: ApiSurfaceDeps) {
    this.#deps = deps;
    this.#cachedResponses = new CachedResponses(deps.cache, deps.clock, () => deps.protection.headers(DATA_POLICY));
    this.#conformance = deps.environment.production ? undefined : new Conformance(deps.log);
    const refuse = (req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void =>
      this.#refuse(req, res, refusal);
    this.#fastPath = new FastPath({
      cached: this.#cachedResponses,
      sessions: deps.sessions,
      rateLimits: deps.rateLimits,
      http: deps.http,
      refuse,
    });
    // A bearer token takes precedence over the cookie, so the session behind the cookie is not even read.
    this.middleware = [
      (req, res, next) => (bearerToken(req) === undefined ? deps.sessions.middleware(req, res, next) : next()),
    ];
  }

  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    return this.#fastPath.handle(req, res);
  }

  async authenticate({ req, res, route }: Exchange<ApiOptions>): Promise<OwnContext> {
    const { sessions, rateLimits, cache } = this.#deps;
    const token = bearerToken(req);
    const cacheVersion = cache.version();
    this.#protect(req, res);
    const idle = route?.options.idle === true;
    const viewer =
      token === undefined
        ? await sessions.authenticate(req, res, { idle })
        : token === ''
          ? undefined
          : await sessions.authenticateBearer(token);
    const allowance = await rateLimits.count(req, viewer, route);
    setRateHeaders(res, allowance);
    if (!viewer) throw badToken();
    if (!allowance.allowed) throw tooManyRequests(allowance);
    return { actor: viewer, bearer: token !== undefined, cacheVersion };
  }

  async protect(context: ApiRequest): Promise<void> {
    const { req, actor, bearer } = context;
    const { options, can } = context.route;
    const { access, sessions, csrf } = this.#deps;
    const write = !SAFE_METHODS.has(req.method);
    const closed = !mayCall(access, actor, can) || (write && sessions.ended(req));
    if (isGuest(actor) && closed) throw loginNeeded();
    if (!write || options.csrf === false || bearer || csrf.verify(req)) return;
    const given =
      options.form === true && csrf.verifiable(req) && req.is('urlencoded')
        ? ((await context.readBody()) as { readonly _csrf?: unknown })._csrf
        : undefined;
    if (typeof given === 'string' && csrf.verify(req, given)) return;
    throw csrfFailed();
  }

  /**
   * Sends the cached response for this caller, if there is one. Guests get here with URLs that were not seen before.
   */
  fromCache(call: ApiRequest & CheckedUrl): boolean {
    const { req, res, actor, route } = call;
    if (req.method !== 'GET') return false;
    const key = responseKey(callerOf(actor), route, call);
    const cached = this.#cachedResponses.find(key);
    if (!cached) return false;
    this.#rememberUrl(call, key);
    sendCached(req, res, cached);
    return true;
  }

  parseBody({ req, route }: Exchange<ApiOptions>): Promise<unknown> {
    const multipart = route?.options.multipart;
    if (multipart) return multipart(req);
    return this.#deps.protection.body(req, {
      form: route?.options.form === true,
      longText: route?.options.longText === true,
    });
  }

  wrap(call: ApiRequest & { readonly body: unknown }, handler: () => Promise<object>): Promise<object> | undefined {
    const { idempotency, routes } = this.#deps;
    const seen = isChange(call.route) ? call.req.get(CONDITION) : undefined;
    return seen === undefined
      ? idempotency.wrap(call, handler)
      : ifUnchanged({ routes, turns: this.#changes }, call, seen, handler);
  }

  respond(call: ApiRequest & CheckedUrl, result: object, tags: readonly string[] | undefined): void {
    const { req, res, actor, route, cacheVersion, expiresAt } = call;
    const { status, result: said } = outcomeOf(route, result);
    const body = successBytes(said);
    setLocation(res, route, { status, result: said });
    let etag: string | undefined;
    if (tags && req.method === 'GET' && route.status === 200) {
      const own = actor.id === undefined ? [] : [accountTag(actor.id)];
      const key = responseKey(callerOf(actor), route, call);
      const terms = {
        vary: varyHeader(this.#deps.settings),
        bucket: route.options.bucket,
        expiresAt,
      };
      const answer = new CachedResponse(body, this.#deps.protection.headers(DATA_POLICY), terms);
      etag = answer.etag;
      this.#cachedResponses.store(answer, { key, tags: [...tags, ...own, accessTag], cacheVersion });
      this.#rememberUrl(call, key);
    }
    this.#conformance?.success(body, route, status);
    send(req, res, { status, type: JSON_TYPE, body, etag });
  }

  /** Only for guests: members have to be authenticated anyway. */
  #rememberUrl({ req, actor, cacheVersion }: ApiRequest, key: string): void {
    if (isGuest(actor)) this.#cachedResponses.rememberUrl(req.originalUrl, key, cacheVersion);
  }

  async fail(
    { req, res, route, actor }: Pick<Exchange<ApiOptions>, 'req' | 'res' | 'route'> & Partial<OwnContext>,
    failure: HttpError,
  ): Promise<void> {
    if (res.headersSent) return void res.destroy();
    // Requests that failed before the rate limit was checked are counted now, as every response has rate limit headers.
    if (!res.hasHeader('X-RateLimit-Limit')) {
      this.#protect(req, res);
      setRateHeaders(res, await this.#deps.rateLimits.count(req, actor, undefined));
    }
    if (isPreflight(res)) return void res.writeHead(204).end();
    const requirement = actor?.requirement;
    const refused =
      requirement && failure.code === 'forbidden'
        ? new HttpError(403, requirement.message, { code: requirement.code })
        : failure;
    const status = this.#fail(req, res, refused, actor && isStaff(actor));
    if (route) this.#conformance?.failure(status, route);
  }

  #fail(req: IncomingMessage, res: ServerResponse, failure: HttpError, staff = false): number {
    const requestId = this.#deps.http.requestId(req);
    if (failure.status === 401) res.setHeader('WWW-Authenticate', 'Bearer');
    for (const [name, value] of Object.entries(failure.headers)) res.setHeader(name, value);
    send(req, res, {
      status: failure.status,
      type: JSON_TYPE,
      body: Buffer.from(
        JSON.stringify(errorEnvelope(failure, requestId, { staff, say: (message) => this.#say(req, message) })),
      ),
    });
    return failure.status;
  }

  /** Translates a message if the request comes from a page of this site: browsers say so in `Sec-Fetch-Site`. */
  #say(req: IncomingMessage, message: string): string {
    if (req.headers['sec-fetch-site'] !== 'same-origin') return message;
    return this.#deps.errorTranslators().reduce((text, translate) => translate(req, text), message);
  }

  #refuse(req: IncomingMessage, res: ServerResponse, refusal: Allowance | Error): void {
    this.#protect(req, res);
    if (!(refusal instanceof Error)) setRateHeaders(res, refusal);
    this.#fail(req, res, refusal instanceof Error ? failureOf(refusal) : tooManyRequests(refusal));
  }

  #protect(req: IncomingMessage, res: ServerResponse): void {
    for (const [name, value] of this.#deps.protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.setHeader('Vary', varyHeader(this.#deps.settings));
    res.setHeader('X-Request-Id', this.#deps.http.requestId(req));
    allowOrigin(req, res, this.#deps.settings);
  }
}
