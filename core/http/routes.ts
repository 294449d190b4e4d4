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

/** Express’s own, of the version that runs. */
export type { Request, RequestHandler, Response } from 'express';
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Something a caller may be allowed to do. */
export interface Permission extends Ref<'permission', never> {
  /** For administrators: completes "may …". */
  readonly label: string;
  /**
   * The least group that has it before anyone decides otherwise; the authorizer knows what the word means. What is not
   * for `everyone` from the beginning is never given to somebody who did not log in.
   */
  readonly default: string;
}
/** One that is for `everyone` from the beginning: guests may hold it. */
export interface OpenPermission extends Permission {
  readonly default: 'everyone';
}
/** `label` completes “You may not …”. Throws `TypeError` for an id with characters that ids may not have. */
export function definePermission(id: string, options: { label: string; default: 'everyone' }): OpenPermission;
export function definePermission(id: string, options: { label: string; default: string }): Permission;
export function definePermission(
  id: string,
  { label, default: least }: { label: string; default: string },
): Permission {
  return Object.freeze({ ...createRef<'permission', never>('permission', id), label, default: least });
}

/**
 * Decides whether `actor` holds `permission`, on `target` where the route names one. Without a provider nobody holds
 * anything.
 */
export interface Authorizer {
  /** Never true for somebody who did not log in, where the permission's default is not `everyone`. */
  allows(actor: unknown, permission: Permission, target?: unknown): Awaitable<boolean>;
  /** Whether `actor` is somebody who logged in. */
  identifies(actor: unknown): boolean;
}
export const Authorizer = defineToken<Authorizer>('Authorizer');

/** What a surface knows of a request before its handlers are asked: who calls, and what else they may use. */
export interface SurfaceContext {
  readonly actor: unknown;
}
/** The context of surfaces that ask nobody who they are, because everyone gets the same. */
export interface AnonymousContext extends SurfaceContext {
  readonly actor: undefined;
}

/** Who may call a route. */
export type RouteAccess = Permission | 'member' | 'public';

/**
 * The context of a route by its `can`: where it has to be somebody who logged in, `actor` is none of those whose `id` is
 * undefined.
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

/** A family of routes under one prefix that authenticates, limits, succeeds and fails in one way. */
export interface Surface<Context extends SurfaceContext, Out = unknown, Options extends object = {}> extends Ref<
  'surface',
  (context: Context, options: Options) => Out
> {
  /** Begins with "/"; the longest prefix that fits a path wins. */
  readonly prefix: string;
  /** What routes of this surface may say besides what all routes say: each option and what it does. */
  readonly options: OptionTexts<Options>;
  /** What to use instead of options that are about to leave. */
  readonly deprecatedOptions: Partial<OptionTexts<Options>>;
}
/** A sentence for each option. */
export type OptionTexts<Options extends object> = Readonly<Record<keyof Options, string>>;

/** What a surface is made from. */
export type SurfaceDefinition<Options extends object> = RefOptions & {
  readonly prefix: string;
  readonly deprecatedOptions?: Partial<OptionTexts<Options>>;
} & ({} extends Options ? { readonly options?: OptionTexts<Options> } : { readonly options: OptionTexts<Options> });

/** `options` has to describe every option of the type; a route with any other is refused when its plugin starts. */
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

/** A request under way on a surface, of which nobody knows yet who sent it. */
export interface Exchange<Options extends object = {}> {
  /** Express's request. */
  readonly req: Request;
  /** Express's response. */
  readonly res: Response;
  /** Undefined for a path or a method without one. */
  readonly route: RouteInfo<Options> | undefined;
  /** What the surface's `parseBody` makes of the request's body, which is read once. */
  readBody(): Promise<unknown>;
}

/** An authenticated request: what its surface's `authenticate` returned is part of it. */
export type RequestContext<Context extends SurfaceContext, Options extends object = {}> = Context &
  Exchange<Options> & { readonly route: RouteInfo<Options> };

/**
 * What the handler sees of a request's URL: the values that were checked, and nothing that was left out of them.
 */
export interface CheckedUrl {
  readonly params: unknown;
  readonly query: unknown;
}

/**
 * How a surface behaves; its owner sets it with `plugin.surface(ref, behaviour)`. Called in the order written here, with
 * one object for each request. `Own` is what `authenticate` returns, of which handlers see what `Context` says.
 */
export interface SurfaceBehaviour<
  Context extends SurfaceContext,
  Out = unknown,
  Options extends object = {},
  Own extends Context = Context,
> {
  /** Synchronous short cut before everything else: true when it has answered from stored bytes. */
  fastPath?(req: IncomingMessage, res: ServerResponse): boolean;
  /** Express's own, before everything that follows. */
  readonly middleware?: readonly RequestHandler[];
  /** Who calls, and may they go on. Also for paths and methods without a route. */
  authenticate(exchange: Exchange<Options>): Awaitable<Own>;
  /** Login and forgery checks, before anything is looked up. */
  protect?(context: RequestContext<Own, Options>): Awaitable<void>;
  /**
   * Reads of public routes with `cacheTags`: true when it has answered from its cache for this very caller under
   * what the handler would see.
   */
  fromCache?(context: RequestContext<Own, Options> & CheckedUrl): boolean;
  /** The request body as a value; called once, when `readBody` is. */
  parseBody?(exchange: Exchange<Options>): Awaitable<unknown>;
  /** True when bodies are forms, whose values arrive as text. */
  readonly coerce?: boolean;
  /**
   * Around the handler, when all checks have passed: its result, or undefined to let it simply run. Once an answer was
   * sent, `respond` is left out.
   */
  wrap?(
    context: RequestContext<Own, Options> & { readonly body: unknown },
    handler: () => Promise<Out>,
  ): Promise<Out> | undefined;
  /** `tags`: what the route's `cacheTags` said; undefined when the answer must not be cached. */
  respond(
    context: RequestContext<Own, Options> & CheckedUrl,
    result: Out,
    tags: readonly string[] | undefined,
  ): Awaitable<void>;
  /**
   * Sends what went wrong, which may have been `authenticate`. Faults of the server, 500 and above, are logged before.
   */
  fail(exchange: Exchange<Options> & Partial<Own>, failure: HttpError): Awaitable<void>;
}

type Infer<S> = S extends TSchema ? Static<S> : undefined;
type Inputs<S> = S extends TSchema ? Static<S> : Readonly<Record<string, string>>;

/** What a handler is given: the context of its surface, and what the request said. */
type Call<Context extends SurfaceContext, P, Q, B, T> = Context &
  Pick<Exchange, 'req' | 'res'> & {
    /** Of the path, as the schema types them; texts without one. */
    readonly params: P;
    /** Undefined without a schema. */
    readonly query: Q;
    /** Undefined without a schema. */
    readonly body: B;
    /** What `load` returned. */
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
  /** Of HTTP, in lower case. */
  readonly method: Method;
  /**
   * Below the surface's prefix: `/books/:id`, `/files/*path`. A credential in it is called `:token`: the log then has
   * the path as it is written here.
   */
  readonly path: string;
  /** One sentence for the reference and OpenAPI. */
  readonly summary?: string;
  /** Does not fit: 404. */
  readonly params?: P;
  /** Does not fit: 400. */
  readonly query?: Q;
  /** Does not fit: 400, naming the fields. */
  readonly body?: B;
  /** What the handler returns; documents and, in tests, checks. */
  readonly result?: R;
  /** Status of success. Default 200. */
  readonly status?: number;
  /**
   * Who may call: whoever holds a permission, who logged in (`member`), or everyone (`public`). There is no default:
   * leaving it out does not compile.
   */
  readonly can: Can;
  /** The thing the path names, if the caller may see it; `undefined`: 404. */
  load?(
    call: ContextOf<Context, Can> & Pick<Exchange, 'req'> & { readonly params: Inputs<P> },
  ): Awaitable<T | undefined>;
  /** Beyond `can`: whether this caller may do this to this target; false: 403. */
  authorize?(call: ContextOf<Context, Can> & { readonly params: Inputs<P>; readonly target: T }): Awaitable<boolean>;
  /**
   * Reads only: the tags under which the surface may cache the answer for callers who are all alike, until one is
   * purged; undefined: not this one.
   */
  cacheTags?(call: {
    readonly params: Inputs<P>;
    readonly query: Infer<Q>;
    readonly target: T;
  }): readonly string[] | undefined;
  /** Such as `{ csrf: false }`; each surface says which there are. */
  readonly options?: Readonly<Options>;
}

/**
 * What a handler returns in place of its result where it took on what was asked for, which is not done yet. The surface
 * says how it answers that; the JSON API with 202.
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

/** Every route of the running plugins, for documents that describe them. */
export interface Routes {
  /** Of one surface where it is given. */
  list<Options extends object = Readonly<Record<string, unknown>>>(
    surface?: Surface<any, any, Options>,
  ): readonly RouteInfo<Options>[];
  /** The request that is being answered; undefined for what runs by itself, such as jobs. */
  readonly current: Request | undefined;
  /**
   * What GET of the address of a request answers whoever sent it, as its handler returns it; undefined where no route
   * does. Throws what that throws.
   */
  representation(call: Exchange<any>): Promise<object | undefined>;
  /** Aborts when the server starts to stop. */
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

/** One plugin's routes: drafted while it starts, published in one step, drained when it stops. */
export interface Mount {
  readonly plugin: string;
  readonly entries: Entry[];
  readonly surfaces: Mounted[];
  pending: number;
  /** Set while the plugin restarts: requests that come meanwhile wait for it. */
  pause: Promise<void> | undefined;
  /** Out of the table for good: requests that had found a route of it look again. */
  withdrawn: boolean;
}

/** For the log. */
interface RequestFault {
  readonly error: unknown;
  readonly req: Request;
  readonly surface: string;
  readonly path: string;
}

/** The longest prefix first. */
type Table = ReadonlyArray<Mounted & { readonly mount: Mount; readonly paths: PathMatcher<Entry> }>;

export interface RouteRegistryDeps {
  /** Aborts when the server starts to stop. */
  readonly closing: AbortSignal;
  service<T>(token: Token<T>): T | undefined;
  /** A request could not be answered by a fault of the server. */
  failed(fault: RequestFault): void;
  /** The database could not read a value of a request: the route has not checked it. Called once for each route. */
  unchecked(route: RouteInfo<any>, field: string): void;
  /** Runs a route's handler, and notices how long it takes. */
  stretch<T>(route: RouteInfo<any>, handle: () => T): T;
}
const NO_DEPS: RouteRegistryDeps = {
  closing: new AbortController().signal,
  service: () => undefined,
  failed: () => undefined,
  unchecked: () => undefined,
  stretch: (_route, handle) => handle(),
};

/** One Express handler over an immutable table of routes that is swapped in one step. */
export class RouteRegistry implements Routes {
  #mounts: readonly Mount[] = [];
  #table: Table = [];
  readonly closing: AbortSignal;
  readonly #deps: RouteRegistryDeps;
  readonly #answering = new AsyncLocalStorage<Request>();
  readonly #unchecked = new WeakSet<RouteInfo<any>>();

  /** Without anything it has no routes, and knows nobody. */
  constructor(deps: RouteRegistryDeps = NO_DEPS) {
    this.closing = deps.closing;
    this.#deps = deps;
  }

  /** A service of the kernel or of a running plugin; undefined while no one provides it. */
  service<T>(token: Token<T>): T | undefined {
    return this.#deps.service(token);
  }

  /** From here on the mount's routes answer; `replaced` (a paused mount of the same plugin) leaves in the same step. */
  publish(mount: Mount, replaced?: Mount): void {
    const mounts = [...this.#mounts.filter((other) => other !== replaced), mount];
    this.#table = compile(mounts);
    this.#mounts = mounts;
  }

  /** Out of the table at once. */
  withdraw(mount: Mount): void {
    mount.withdrawn = true;
    this.#mounts = this.#mounts.filter((other) => other !== mount);
    this.#table = compile(this.#mounts);
  }

  /** Resolves when the requests under way have ended, or after 5 s. */
  async drain(mount: Mount): Promise<void> {
    for (const deadline = Date.now() + 5_000; mount.pending > 0 && Date.now() < deadline;)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  list(surface?: Surface<any, any, any>): readonly RouteInfo<any>[] {
    const all = this.#mounts.flatMap((mount) => mount.entries.map((entry) => entry.info));
    return surface ? all.filter((route) => route.surface.id === surface.id) : all;
  }

  /** The route that answers a path of the site; undefined where none does. */
  find(method: string, path: string): RouteInfo<any> | undefined {
    const at = this.#surfaceOf(path);
    return at?.paths.find(method.toUpperCase(), pathBelow(at.surface, path)).value?.info;
  }

  /** Answers from stored bytes before Express is entered; false: go on. */
  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    if (req.method !== 'GET') return false;
    const at = this.#surfaceOf(req.url ?? '/');
    return at?.behaviour.fastPath !== undefined && !at.mount.pause && at.behaviour.fastPath(req, res);
  }

  /** Without its query; as the route has it where a credential is part of it. */
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
   * False when no surface has the path. A plugin that restarts is waited for, wherever on the way the request meets it.
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

  /** Lets the surface answer; what is the server's own fault is logged. */
  async #fail(error: unknown, exchange: RequestExchange, { surface, behaviour }: Table[number]): Promise<void> {
    const { req, res } = exchange;
    // Whoever asked has gone in the middle of the answer.
    if (res.destroyed && (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    const failure = this.#refusal(error, exchange) ?? failureOf(error);
    if (failure.status >= 500) this.#deps.failed({ error, req, surface: surface.id, path: this.pathForLog(req) });
    await behaviour.fail(exchange, failure);
  }

  /** The answer to a value that the database could not read; undefined where that is not what went wrong. */
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
    if (method !== 'OPTIONS') throw new HttpError(405, `This address answers ${allow}`, { headers: { Allow: allow } });
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
      throw new HttpError(401, 'Log in to go on', { code: 'login_needed' });
  }

  /** Loads what the path names, and looks whether the caller may do this to it. */
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

/** One for each request: the surface's own context and what was checked of the request are assigned to it. */
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

/** Puts the checked params and query into `call`. Throws 404 for params that do not fit; resolves to how the query does. */
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

/** What clients of proxies put in front of the path. */
const WHOLE_ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^/?]*/i;

/** A parameter `:token` is a credential, so it stays out of logs. */
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
        `answers on the surface "${surface.id}" under ${surface.prefix}, which plugin "${other.mount.plugin}" does already; keep one`,
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
 * Whether there is still something to answer: the middleware did not, and somebody waits for it. Of a connection that
 * ended in between it is not even known who asked.
 */
async function passes(all: readonly RequestHandler[], req: Request, res: Response): Promise<boolean> {
  for (const middleware of all) await runMiddleware(middleware, req, res);
  return !res.headersSent && !res.closed;
}

/** Waits for a connect middleware to call `next`, or for the connection to end without it; rejects with what it passes on. */
export const runMiddleware = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    res.once('close', resolve);
    void middleware(req, res, (error?: unknown) => {
      res.off('close', resolve);
      if (error) reject(error instanceof Error ? error : new Error(String(error)));
      else resolve();
    });
  });
