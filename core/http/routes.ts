import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Static, TSchema } from 'typebox';
import { HttpError, InvalidInput, notFound, PluginError } from '../errors.ts';
import { failureOf } from './failures.ts';
import { Http } from './http.ts';
import { PathMatcher, type Address, type Match } from './path-matcher.ts';
import { refusedValue } from './refused-values.ts';
import { createRef, defineToken, type Awaitable, type Ref, type RefOptions, type Token } from '../ref.ts';
import { check, parse, type Checked } from '../schema.ts';

/** Express’s own types, of the bundled version. */
export type { Request, RequestHandler, Response } from 'express';
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Something that a caller may be allowed to do. */
export interface Permission extends Ref<'permission', never> {
  /** Shown to administrators; completes "may …". */
  readonly label: string;
  /**
   * The lowest group that holds the permission by default; the authorizer defines the names. Unless this is `everyone`,
   * the permission is never granted to callers who are not logged in.
   */
  readonly default: string;
}
/** A permission whose default is `everyone`: guests may hold it. */
export interface OpenPermission extends Permission {
  readonly default: 'everyone';
}
/** `label` completes “You may not …”. Throws `TypeError` for an id with invalid characters. */
export function definePermission(id: string, options: { label: string; default: 'everyone' }): OpenPermission;
export function definePermission(id: string, options: { label: string; default: string }): Permission;
export function definePermission(
  id: string,
  { label, default: least }: { label: string; default: string },
): Permission {
  return Object.freeze({ ...createRef<'permission', never>('permission', id), label, default: least });
}

/**
 * Decides whether `actor` holds `permission`, on `target` if the route loads one. Without a provider every permission
 * is denied.
 */
export interface Authorizer {
  /** Always false for callers who are not logged in, unless the permission's default is `everyone`. */
  allows(actor: unknown, permission: Permission, target?: unknown): Awaitable<boolean>;
  /** Whether `actor` is logged in. */
  identifies(actor: unknown): boolean;
}
export const Authorizer = defineToken<Authorizer>('Authorizer');

/**
 * What a surface's `authenticate` establishes about a request before its handlers run: who the caller is, and whatever
 * else handlers may use.
 */
export interface SurfaceContext {
  readonly actor: unknown;
}
/** The context of surfaces that do not authenticate, because every caller gets the same response. */
export interface AnonymousContext extends SurfaceContext {
  readonly actor: undefined;
}

/** Who may call a route. */
export type RouteAccess = Permission | 'member' | 'public';

/**
 * The context of a route depending on its `can`: if the caller has to be logged in, the types whose `id` is undefined
 * are excluded from `actor`.
 */
export type ContextOf<Context extends SurfaceContext, Can> = [Can] extends ['member']
  ? Identified<Context>
  : [Can] extends [OpenPermission]
    ? Context
    : [Can] extends [Permission]
      ? Identified<Context>
      : Context;
type Identified<Context extends SurfaceContext> = Context & {
  readonly actor: Exclude<Context['actor'], { readonly id: undefined }>;
};

/**
 * A family of routes under one prefix that share authentication, rate limits, and the format of responses and errors.
 */
export interface Surface<Context extends SurfaceContext, Out = unknown, Options extends object = {}> extends Ref<
  'surface',
  (context: Context, options: Options) => Out
> {
  /** Starts with "/"; the longest matching prefix wins. */
  readonly prefix: string;
  /** The additional options that routes of this surface accept, each with a description. */
  readonly options: OptionTexts<Options>;
  /** Deprecated options, each with what to use instead. */
  readonly deprecatedOptions: Partial<OptionTexts<Options>>;
}
/** A sentence describing each option. */
export type OptionTexts<Options extends object> = Readonly<Record<keyof Options, string>>;

/** The parameters of `defineSurface`. */
export type SurfaceDefinition<Options extends object> = RefOptions & {
  readonly prefix: string;
  readonly deprecatedOptions?: Partial<OptionTexts<Options>>;
} & ({} extends Options ? { readonly options?: OptionTexts<Options> } : { readonly options: OptionTexts<Options> });

/**
 * `options` must describe every option in the type; a route with any other option is rejected when its plugin starts.
 */
export const defineSurface = <Context extends SurfaceContext, Out = unknown, Options extends object = {}>(
  id: string,
  { prefix, options, deprecatedOptions = {}, deprecated }: SurfaceDefinition<Options>,
): Surface<Context, Out, Options> =>
  Object.freeze({
    ...createRef<'surface', (context: Context, options: Options) => Out>(
      'surface',
      id,
      deprecated === undefined ? {} : { deprecated },
    ),
    prefix,
    options: options ?? ({} as OptionTexts<Options>),
    deprecatedOptions,
  });

/** A request on a surface, before authentication. */
export interface Exchange<Options extends object = {}> {
  /** Express's request. */
  readonly req: Request;
  /** Express's response. */
  readonly res: Response;
  /** Undefined if no route matches the path and method. */
  readonly route: RouteInfo<Options> | undefined;
  /** Returns the result of the surface's `parseBody`; the body is read only once. */
  readBody(): Promise<unknown>;
}

/** An authenticated request, including the properties that its surface's `authenticate` returned. */
export type RequestContext<Context extends SurfaceContext, Options extends object = {}> = Context &
  Exchange<Options> & { readonly route: RouteInfo<Options> };

/** The parts of a request's URL that the handler sees: validated values, without unknown fields. */
export interface CheckedUrl {
  readonly params: unknown;
  readonly query: unknown;
}

/**
 * How a surface behaves; its owner sets it with `plugin.surface(ref, behaviour)`. The functions are called in the order
 * given here, with the same object for each request. `Own` is the type that `authenticate` returns; handlers only see
 * `Context`.
 */
export interface SurfaceBehaviour<
  Context extends SurfaceContext,
  Out = unknown,
  Options extends object = {},
  Own extends Context = Context,
> {
  /** A synchronous shortcut before everything else; returns true if it has sent a cached response. */
  fastPath?(req: IncomingMessage, res: ServerResponse): boolean;
  /** Express middleware that runs before everything below. */
  readonly middleware?: readonly RequestHandler[];
  /** Identifies the caller and decides whether they may proceed. Also called for paths and methods without a route. */
  authenticate(exchange: Exchange<Options>): Awaitable<Own>;
  /** Login and CSRF checks, before anything is looked up. */
  protect?(context: RequestContext<Own, Options>): Awaitable<void>;
  /**
   * For reads of public routes with `cacheTags`; returns true if it has sent a response cached for this very caller and
   * for the values that the handler would see.
   */
  fromCache?(context: RequestContext<Own, Options> & CheckedUrl): boolean;
  /** Parses the request body; called once, by `readBody`. */
  parseBody?(exchange: Exchange<Options>): Awaitable<unknown>;
  /** True if bodies are forms, whose values arrive as text. */
  readonly coerce?: boolean;
  /**
   * Wraps the handler after all checks have passed. Returns the handler's result, or undefined to run the handler
   * directly. If a response has been sent by then, `respond` is skipped.
   */
  wrap?(
    context: RequestContext<Own, Options> & { readonly body: unknown },
    handler: () => Promise<Out>,
  ): Promise<Out> | undefined;
  /** Sends the result. `tags` are the route's `cacheTags`; undefined if the response must not be cached. */
  respond(
    context: RequestContext<Own, Options> & CheckedUrl,
    result: Out,
    tags: readonly string[] | undefined,
  ): Awaitable<void>;
  /**
   * Sends an error, which `authenticate` may have thrown too. Server errors (500 and above) have already been logged.
   */
  fail(exchange: Exchange<Options> & Partial<Own>, failure: HttpError): Awaitable<void>;
}

type Infer<S> = S extends TSchema ? Static<S> : undefined;
type Inputs<S> = S extends TSchema ? Static<S> : Readonly<Record<string, string>>;

/** What a handler receives: the context of its surface and the request's values. */
type Call<Context extends SurfaceContext, P, Q, B, T> = Context &
  Pick<Exchange, 'req' | 'res'> & {
    /** Path parameters, typed by the schema; strings without one. */
    readonly params: P;
    /** Undefined without a schema. */
    readonly query: Q;
    /** Undefined without a schema. */
    readonly body: B;
    /** The value returned by `load`. */
    readonly target: T;
  };

export interface RouteDefinition<
  Context extends SurfaceContext,
  P,
  Q,
  B,
  R,
  T,
  Options extends object = {},
  Can extends RouteAccess = RouteAccess,
> {
  /** The HTTP method, in lower case. */
  readonly method: Method;
  /**
   * Relative to the surface's prefix: `/books/:id`, `/files/*path`. Name a parameter that is a credential `:token`: the
   * log then shows this pattern instead of the actual path.
   */
  readonly path: string;
  /** One sentence for the reference and OpenAPI. */
  readonly summary?: string;
  /** Schema of the path parameters; a mismatch is a 404. */
  readonly params?: P;
  /** Schema of the query; a mismatch is a 400. */
  readonly query?: Q;
  /** Schema of the body; a mismatch is a 400 that names the fields. */
  readonly body?: B;
  /** Schema of the handler's result, for documentation and for checks in tests. */
  readonly result?: R;
  /** Status of a successful response. Default 200. */
  readonly status?: number;
  /**
   * Who may call the route: holders of a permission, anyone logged in (`member`), or everyone (`public`). There is no
   * default: omitting it does not compile.
   */
  readonly can: Can;
  /** Returns what the path names if the caller may see it; `undefined` is a 404. */
  load?(
    call: ContextOf<Context, Can> & Pick<Exchange, 'req'> & { readonly params: Inputs<P> },
  ): Awaitable<T | undefined>;
  /** Decides beyond `can` whether this caller may do this to this target; false is a 403. */
  authorize?(call: ContextOf<Context, Can> & { readonly params: Inputs<P>; readonly target: T }): Awaitable<boolean>;
  /**
   * For reads only: the cache tags under which the surface may cache the response for callers that are all treated
   * alike, until one is purged; undefined if this response must not be cached.
   */
  cacheTags?(call: {
    readonly params: Inputs<P>;
    readonly query: Infer<Q>;
    readonly target: T;
  }): readonly string[] | undefined;
  /** Surface-specific options such as `{ csrf: false }`; each surface documents its own. */
  readonly options?: Readonly<Options>;
}

/**
 * Returned by a handler instead of its result when the request has been accepted but not yet carried out. The surface
 * decides how to respond; the JSON API sends a 202.
 */
export class Accepted<R extends object = object> {
  readonly result: R;
  constructor(result: R) {
    this.result = result;
  }
}

export type Handler<Context extends SurfaceContext, P, Q, B, R, T> = (
  call: Call<Context, Inputs<P>, Infer<Q>, Infer<B>, T>,
) => Awaitable<R extends TSchema ? Static<R> | Accepted : unknown>;

/** A route as surfaces, OpenAPI and the reference see it. */
export interface RouteInfo<Options extends object = Readonly<Record<string, unknown>>> extends RouteDefinition<
  any,
  TSchema | undefined,
  TSchema | undefined,
  TSchema | undefined,
  TSchema | undefined,
  any,
  Options
> {
  readonly plugin: string;
  readonly surface: Surface<any, any, any>;
  readonly status: number;
  readonly options: Readonly<Options>;
}

/** Every route of the running plugins, for documentation that describes them. */
export interface Routes {
  /** All routes, or those of one surface. */
  list<Options extends object = Readonly<Record<string, unknown>>>(
    surface?: Surface<any, any, Options>,
  ): readonly RouteInfo<Options>[];
  /** The current request; undefined for background work such as jobs. */
  readonly current: Request | undefined;
  /**
   * The handler's result for a GET of the request's URL, on behalf of the same caller; undefined if no route matches.
   * Throws whatever that route throws.
   */
  representation(call: Exchange<any>): Promise<object | undefined>;
  /** Aborts when the server starts to shut down. */
  readonly closing: AbortSignal;
}
export const Routes = defineToken<Routes>('Routes');

interface Entry {
  readonly info: RouteInfo<any>;
  readonly address: Address;
  readonly handler: Handler<any, any, any, any, any, any>;
  readonly mount: Mount;
}

interface Mounted {
  readonly surface: Surface<any, any, any>;
  readonly behaviour: SurfaceBehaviour<any, any, any, any>;
}

/** One plugin's routes: collected while it starts, published in one step, drained when it stops. */
export interface Mount {
  readonly plugin: string;
  readonly entries: Entry[];
  readonly surfaces: Mounted[];
  pending: number;
  /** Set while the plugin restarts: requests that arrive meanwhile wait for it. */
  pause: Promise<void> | undefined;
  /** Removed from the table for good: requests that had already matched one of its routes are routed again. */
  withdrawn: boolean;
}

/** A server error, for the log. */
interface RequestFault {
  readonly error: unknown;
  readonly req: Request;
  readonly surface: string;
  readonly path: string;
}

/** Sorted by prefix length, longest first. */
type Table = ReadonlyArray<Mounted & { readonly mount: Mount; readonly paths: PathMatcher<Entry> }>;

export interface RouteRegistryDeps {
  /** Aborts when the server starts to shut down. */
  readonly closing: AbortSignal;
  service<T>(token: Token<T>): T | undefined;
  /** Called when a request fails because of a server error. */
  failed(fault: RequestFault): void;
  /**
   * Called once for each route, when the database could not parse a request value that the route failed to validate.
   */
  unchecked(route: RouteInfo<any>, field: string): void;
  /** Runs a route's handler and measures how long it takes. */
  stretch<T>(route: RouteInfo<any>, handle: () => T): T;
}
const NO_DEPS: RouteRegistryDeps = {
  closing: new AbortController().signal,
  service: () => undefined,
  failed: () => undefined,
  unchecked: () => undefined,
  stretch: (_route, handle) => handle(),
};

/** A single Express handler over an immutable route table that is replaced in one step. */
export class RouteRegistry implements Routes {
  #mounts: readonly Mount[] = [];
  #table: Table = [];
  readonly closing: AbortSignal;
  readonly #deps: RouteRegistryDeps;
  readonly #answering = new AsyncLocalStorage<Request>();
  readonly #unchecked = new WeakSet<RouteInfo<any>>();

  /** Without `deps` it has no routes or services. */
  constructor(deps: RouteRegistryDeps = NO_DEPS) {
    this.closing = deps.closing;
    this.#deps = deps;
  }

  /** A service of the kernel or of a running plugin; undefined while nothing provides it. */
  service<T>(token: Token<T>): T | undefined {
    return this.#deps.service(token);
  }

  /**
   * Adds the mount's routes to the table; `replaced` (a paused mount of the same plugin) is removed in the same step.
   */
  publish(mount: Mount, replaced?: Mount): void {
    const mounts = [...this.#mounts.filter((other) => other !== replaced), mount];
    this.#table = compile(mounts);
    this.#mounts = mounts;
  }

  /** Removes the mount's routes from the table immediately. */
  withdraw(mount: Mount): void {
    mount.withdrawn = true;
    this.#mounts = this.#mounts.filter((other) => other !== mount);
    this.#table = compile(this.#mounts);
  }

  /** Resolves when the mount's pending requests have ended, or after 5 s. */
  async drain(mount: Mount): Promise<void> {
    for (const deadline = Date.now() + 5_000; mount.pending > 0 && Date.now() < deadline;)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  list(surface?: Surface<any, any, any>): readonly RouteInfo<any>[] {
    const all = this.#mounts.flatMap((mount) => mount.entries.map((entry) => entry.info));
    return surface ? all.filter((route) => route.surface.id === surface.id) : all;
  }

  /** The route for a path of the site; undefined if there is none. */
  find(method: string, path: string): RouteInfo<any> | undefined {
    const at = this.#surfaceOf(path);
    return at?.paths.find(method.toUpperCase(), pathBelow(at.surface, path)).value?.info;
  }

  /** Tries to send a cached response before Express runs; false means to continue with Express. */
  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    if (req.method !== 'GET') return false;
    const at = this.#surfaceOf(req.url ?? '/');
    return at?.behaviour.fastPath !== undefined && !at.mount.pause && at.behaviour.fastPath(req, res);
  }

  /** The path without its query; if a credential is part of it, the route's pattern instead. */
  pathForLog({ method = '', url = '/' }: IncomingMessage): string {
    const path = url.replace(WHOLE_ADDRESS, '').split('?', 1)[0] || '/';
    const at = this.#surfaceOf(path);
    const named = [method, 'GET', 'POST'].map((one) => at?.paths.find(one, pathBelow(at.surface, path)).value?.info);
    return named.find((route) => route !== undefined && hasCredential(route))?.path ?? path;
  }

  readonly middleware: RequestHandler = (req, res, next) => {
    const answer = this.#answering.run(req, () => this.#answer(req, res));
    answer.then((answered) => (answered ? undefined : next()), next);
  };

  get current(): Request | undefined {
    return this.#answering.getStore();
  }

  async representation(call: Exchange<any>): Promise<object | undefined> {
    const at = this.#surfaceOf(call.req.path);
    const { value: found, params } = at?.paths.find('GET', pathBelow(at.surface, call.req.path)) ?? {};
    if (!at || !found) return undefined;
    const { info, handler } = found;
    const read = Object.assign(new RequestExchange(call.req, call.res, info, at.behaviour), call, { route: info });
    const reading = read as unknown as CheckedExchange;
    const query = checkUrl(info, params ?? {}, reading);
    if (!query.ok) throw new InvalidInput(query.problems);
    if (info.can === 'member') this.#requireIdentity(reading);
    await this.#authorize(info, reading);
    return (await handler(reading)) as object;
  }

  #surfaceOf(path: string): Table[number] | undefined {
    return this.#table.find(
      ({ surface: { prefix } }) =>
        prefix === '/' || (path.startsWith(prefix) && [undefined, '/', '?'].includes(path[prefix.length])),
    );
  }

  /**
   * Resolves to false if no surface matches the path. If a plugin involved is restarting, the request waits for it and
   * is routed again.
   */
  async #answer(req: Request, res: Response): Promise<boolean> {
    const at = this.#surfaceOf(req.path);
    if (!at) return false;
    const { surface, behaviour, mount, paths } = at;
    const path = pathBelow(surface, req.path);
    const { value: found, params, allowed } = paths.find(req.method === 'HEAD' ? 'GET' : req.method, path);
    const pause = mount.pause ?? found?.mount.pause;
    if (pause) return pause.then(() => this.#answer(req, res));
    let again: Promise<void> | undefined;
    const exchange = new RequestExchange(req, res, found?.info, behaviour);
    mount.pending++;
    try {
      if (!(await passes(behaviour.middleware ?? [], req, res))) return true;
      Object.assign(exchange, await behaviour.authenticate(exchange));
      if (!found) this.#unmatched(res, allowed, req.method);
      else if (!(again = found.mount.withdrawn ? Promise.resolve() : found.mount.pause))
        await this.#call(found, params, exchange as CheckedExchange, behaviour);
    } catch (error) {
      await this.#fail(error, exchange, at);
    } finally {
      mount.pending--;
    }
    return again ? again.then(() => this.#answer(req, res)) : true;
  }

  /** Lets the surface send the error; server errors are logged. */
  async #fail(error: unknown, exchange: RequestExchange, { surface, behaviour }: Table[number]): Promise<void> {
    const { req, res } = exchange;
    // The client disconnected while the response was being sent.
    if (res.destroyed && (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    const failure = this.#refusal(error, exchange) ?? failureOf(error);
    if (failure.status >= 500) this.#deps.failed({ error, req, surface: surface.id, path: this.pathForLog(req) });
    await behaviour.fail(exchange, failure);
  }

  /** The error response for a value that the database could not parse; undefined for all other errors. */
  #refusal(error: unknown, exchange: RequestExchange): HttpError | undefined {
    const { route, req } = exchange;
    const { params, query = req.query, body } = exchange as Partial<CheckedExchange>;
    const refused = route && refusedValue(error, { params, query, body });
    if (!refused) return undefined;
    if (!this.#unchecked.has(route)) this.#deps.unchecked(route, refused.field);
    this.#unchecked.add(route);
    return refused.failure;
  }

  #unmatched(res: Response, allowed: readonly string[], method: string): void {
    if (allowed.length === 0) throw notFound();
    const allow = [...allowed.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : name)), 'OPTIONS'].join(', ');
    if (method !== 'OPTIONS')
      throw new HttpError(405, `This URL only supports ${allow}`, { headers: { Allow: allow } });
    this.service(Http)?.protect(res);
    res.set('Allow', allow).status(204).end();
  }

  async #call(
    { info, handler, mount }: Entry,
    raw: Match<Entry>['params'],
    call: CheckedExchange,
    behaviour: SurfaceBehaviour<any, any, any, any>,
  ): Promise<void> {
    mount.pending++;
    try {
      await behaviour.protect?.(call);
      if (info.can === 'member') this.#requireIdentity(call);
      const query = checkUrl(info, raw, call);
      if (info.cacheTags && info.can === 'public' && query.ok && behaviour.fromCache?.(call)) return;
      await this.#authorize(info, call);
      if (!query.ok) throw new InvalidInput(query.problems);
      if (info.body) call.body = parse(info.body, await call.readBody(), { coerce: behaviour.coerce === true });
      const handle = (): unknown => this.#deps.stretch(info, () => handler(call));
      const result = await (behaviour.wrap?.(call, async () => handle()) ?? handle());
      if (!call.res.headersSent) await behaviour.respond(call, result, info.cacheTags?.(call));
    } finally {
      mount.pending--;
    }
  }

  #requireIdentity({ actor }: CheckedExchange): void {
    if (!this.service(Authorizer)?.identifies(actor))
      throw new HttpError(401, 'Log in to continue', { code: 'login_needed' });
  }

  /** Loads the target, and checks that the caller may do this to it. */
  async #authorize(info: RouteInfo<any>, call: CheckedExchange): Promise<void> {
    if (info.load) {
      call.target = await info.load(call);
      if (call.target === undefined) throw notFound();
    }
    const permission = typeof info.can === 'string' ? undefined : info.can;
    const what = permission?.label ?? 'do this';
    if (permission && !(await this.service(Authorizer)?.allows(call.actor, permission, call.target)))
      throw new HttpError(403, `You may not ${what}`);
    if (info.authorize && !(await info.authorize(call)))
      throw new HttpError(403, `You may not ${what}${permission ? ' here' : ''}`);
  }
}

/** One per request: the surface's context and the validated values are assigned to it. */
class RequestExchange implements Exchange<any> {
  readonly req: Request;
  readonly res: Response;
  readonly route: RouteInfo<any> | undefined;
  readonly #behaviour: SurfaceBehaviour<any, any, any, any>;
  #body: Promise<unknown> | undefined;

  constructor(
    req: Request,
    res: Response,
    route: RouteInfo<any> | undefined,
    behaviour: SurfaceBehaviour<any, any, any, any>,
  ) {
    this.req = req;
    this.res = res;
    this.route = route;
    this.#behaviour = behaviour;
  }

  readBody(): Promise<unknown> {
    return (this.#body ??= Promise.try(() => this.#behaviour.parseBody?.(this)));
  }
}
type CheckedExchange = RequestExchange & {
  readonly route: RouteInfo<any>;
  readonly actor: unknown;
  params: unknown;
  query: unknown;
  body: unknown;
  target: unknown;
};

/**
 * Assigns the validated params and query to `call`. Throws 404 for invalid params; returns the outcome of the query's
 * validation.
 */
function checkUrl(info: RouteInfo<any>, raw: Match<Entry>['params'], call: CheckedExchange): Checked<unknown> {
  const params = info.params ? check(info.params, raw, { coerce: true }) : ({ ok: true, value: raw } as const);
  if (!params.ok || Object.values(raw).some((text) => text?.includes('\0'))) throw notFound();
  const query = info.query
    ? check(info.query, { ...call.req.query }, { coerce: true })
    : ({ ok: true, value: undefined } as const);
  call.params = params.value;
  call.query = query.ok ? query.value : undefined;
  return query;
}

const pathBelow = ({ prefix }: Surface<any, any, any>, path: string): string =>
  path.slice(prefix === '/' ? 0 : prefix.length) || '/';

/** The scheme and host in an absolute-form request target, as sent by clients of proxies. */
const WHOLE_ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^/?]*/i;

/** A parameter `:token` is a credential, which must not appear in logs. */
const hasCredential = ({ path }: RouteInfo<any>): boolean => path.includes('/:token');

function compile(mounts: readonly Mount[]): Table {
  const table: Table = mounts.flatMap((mount) =>
    mount.surfaces.map((own) => ({ ...own, mount, paths: new PathMatcher<Entry>() })),
  );
  for (const [at, { surface, mount }] of table.entries()) {
    const other = table
      .slice(0, at)
      .find(({ surface: { id, prefix } }) => id === surface.id || prefix === surface.prefix);
    if (other)
      throw new PluginError(
        mount.plugin,
        `answers on the surface "${surface.id}" under ${surface.prefix}, as plugin "${other.mount.plugin}" already does; keep one`,
      );
  }
  const matchers = new Map(table.map(({ surface, paths }) => [surface.id, paths]));
  for (const { entries } of mounts)
    for (const entry of entries) {
      const { plugin, surface } = entry.info;
      const problem = matchers.get(surface.id)?.add(entry.address, entry);
      if (!problem) continue;
      const { method, pattern } = entry.address;
      throw new PluginError(plugin, `registers ${method} ${surface.prefix}${pattern}, which ${problem}`);
    }
  return table.toSorted((a, b) => b.surface.prefix.length - a.surface.prefix.length);
}

/**
 * Runs the middleware; resolves to whether the request still needs a response: the middleware sent none, and the
 * connection is still open. After it has closed, even the client's address is unknown.
 */
async function passes(all: readonly RequestHandler[], req: Request, res: Response): Promise<boolean> {
  for (const middleware of all) await runMiddleware(middleware, req, res);
  return !res.headersSent && !res.closed;
}

/**
 * Resolves when a Connect-style middleware calls `next` or the connection closes before that; rejects with the error
 * passed on.
 */
export const runMiddleware = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    res.once('close', resolve);
    void middleware(req, res, (error?: unknown) => {
      res.off('close', resolve);
      if (error) reject(error instanceof Error ? error : new Error(String(error)));
      else resolve();
    });
  });
