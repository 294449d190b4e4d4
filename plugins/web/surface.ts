import type { IncomingMessage } from 'node:http';
import {
  HttpError,
  type Cache, type Environment, type Exchange, type Http, type Logger, type Request, type RequestHandler, type Response, type RouteInfo, type Routes, type SurfaceBehaviour,
} from '#core';
import { isGuest, type Access, type Viewer } from '#plugins/access';
import type { Csrf, Sessions } from '#plugins/accounts';
import { multipartOf } from '#plugins/api';
import type { Protection } from '#plugins/protection';
import { formRoute, pageAbove, pageOf, pathParams, READS } from './addresses.ts';
import { redirect, RENDERED_HOLDS, type PageResult, type Redirect, type Retry, type View } from './api.ts';
import { hasNotice, leaveNotice, takeNotice, withdrawNotice } from './cookies.ts';
import { errorView, failureJson, failureOf, opensPage, plainFailure, wantsJson, type Failure } from './failure.ts';
import { createNonce, type PageHeaders } from './headers.ts';
import { pageHash } from './kept.ts';
import type { Locale } from './locales.ts';
import { fillMarks } from './marks.ts';
import type { Made, Pages } from './page.ts';
import { readPreferences } from './preferences.ts';
import { etagOf, VARY, type Replay } from './replay.ts';
import type { TypedForms } from './typed.ts';

/** Seconds for which a page is kept that a slot was late for: without it, those who wait for the next one would make every slot late. */
const PIECEMEAL = 1;

export interface SurfaceParts {
  readonly pages: Pages;
  readonly replay: Replay;
  readonly routes: Routes;
  readonly typed: TypedForms;
  readonly headers: PageHeaders;
  readonly protection: Protection;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly http: Http;
  readonly cache: Cache;
  readonly environment: Environment;
  readonly log: Logger;
  readonly guest: Viewer;
  readonly localeOf: (req: IncomingMessage) => Locale;
  readonly seen: (req: IncomingMessage, path: string, viewer: Viewer | undefined, key: string | undefined) => void;
}

interface Pending {
  /** Taken before anything is read, so that a change meanwhile keeps the page from being kept. */
  readonly mark: number;
  route?: RouteInfo;
}

/** Least levels of permissions whose pages show nothing that members may not see. */
const MEMBERS = new Set(['everyone', 'member']);

/** How pages authenticate, are protected, succeed and fail. */
export class PageSurface implements SurfaceBehaviour<Viewer, PageResult> {
  readonly middleware: readonly RequestHandler[];
  readonly coerce = true;
  readonly #parts: SurfaceParts;
  readonly #pending = new WeakMap<Request, Pending>();

  constructor(parts: SurfaceParts) {
    this.#parts = parts;
    this.middleware = [parts.sessions.middleware];
  }

  replay(...[req, res]: Parameters<NonNullable<SurfaceBehaviour<Viewer>['replay']>>): boolean {
    return this.#parts.replay.answer(req, res);
  }

  async enter(req: Request, res: Response): Promise<Viewer> {
    this.#pending.set(req, { mark: this.#parts.cache.mark() });
    return this.#parts.sessions.identify(req, res);
  }

  async guard({ req, actor }: Exchange<Viewer>, route: RouteInfo): Promise<void> {
    const { sessions, csrf } = this.#parts;
    const pending = this.#pending.get(req);
    if (pending) pending.route = route;
    const write = !READS.has(req.method);
    if (isGuest(actor) && (route.options['login'] === true || (write && sessions.ended(req)))) throw new HttpError(401, 'Log in to go on', { code: 'login_needed' });
    if (write && route.options['csrf'] !== false && !csrf.valid(req)) {
      const given = ((await this.body(req)) as Readonly<Record<string, unknown>> | null)?.['_csrf'];
      if (typeof given !== 'string' || !csrf.valid(req, given)) throw new HttpError(403, 'The form’s token is missing or too old; load the page again', { code: 'csrf_failed' });
    }
    if (route.options['confirm'] === true && !sessions.confirmed(req)) throw new HttpError(403, 'Give your password again at /login/confirm to go on', { code: UNCONFIRMED });
  }

  recall({ req, res, actor }: Exchange<Viewer>): boolean {
    return !wantsJson(req) && this.#parts.replay.recall(req, res, actor);
  }

  body(req: Request): Promise<unknown> {
    const multipart = multipartOf(this.#pending.get(req)?.route);
    if (multipart) return multipart(req);
    return this.#parts.protection.body(req, { form: true });
  }

  async succeed(exchange: Exchange<Viewer>, result: PageResult, route: RouteInfo, tags: readonly string[] | undefined): Promise<void> {
    if (result.kind === 'negotiated') {
      if (wantsJson(exchange.req)) return this.#json(exchange.req, exchange.res, result.status, result.json);
      return this.succeed(exchange, result.page, route, undefined);
    }
    if (result.kind === 'redirect') return this.#redirect(exchange, result);
    const typed = exchange.req.method === 'GET' ? await this.#retyped(exchange) : undefined;
    if (typed) return this.#show(exchange, typed, { notice: this.#parts.localeOf(exchange.req).text('web:form.confirmed') });
    await this.#show(exchange, result, { tags });
    if (result.status === 200 && exchange.req.method === 'GET') this.#parts.seen(exchange.req, exchange.req.originalUrl, exchange.actor, this.#keyOf(exchange));
  }

  /** Tells a returning guest's browser from others, as for pages from stored bytes. */
  #keyOf({ req, actor }: Exchange<Viewer>): string | undefined {
    const { cookie } = req.headers;
    if (!isGuest(actor) || cookie === undefined) return undefined;
    const { token, setCookie } = this.#parts.csrf.guestToken(cookie, this.#parts.http.secure(req));
    return setCookie === undefined ? token : undefined;
  }

  async fail({ req, res, actor = this.#parts.guest }: Exchange<Viewer | undefined>, error: unknown): Promise<void> {
    const { log, http } = this.#parts;
    const failure = failureOf(error);
    const requestId = http.idOf(req);
    if (failure.status >= 500) log.error({ error, request: requestId, path: this.#loggedPath(req) }, 'a page failed');
    if (res.headersSent) return void res.destroy();
    const exchange = { req, res, actor };
    // The address of a form that was sent is in the address bar; whoever loads it again is led to the page that it belongs to.
    if (failure.status === 405 && READS.has(req.method) && opensPage(req)) return this.#redirect(exchange, redirect(pageAbove(this.#parts.routes.list(), req.path)));
    res.set({ ...failure.headers });
    if (wantsJson(req)) return void this.#json(req, res, failure.status, failureJson(failure, requestId));
    if (failure.status === 401 && READS.has(req.method) && isGuest(actor)) return this.#redirect(exchange, redirect(`/login?return_to=${encodeURIComponent(req.originalUrl)}`));
    if (failure.code === UNCONFIRMED) return this.#toConfirm(exchange);
    if (await this.#again(exchange, failure)) return;
    try {
      await this.#show(exchange, errorView(failure, { locale: this.#parts.localeOf(req), viewer: actor, url: req.originalUrl, back: pageOf(req), requestId }), {});
    } catch (cause) {
      log.error({ error: cause, request: requestId }, 'the error page failed too');
      this.#send(req, res, failure.status, plainFailure(failure, requestId), '');
    }
  }

  /** For other surfaces: answers with the page of what went wrong where a browser opens a page; false for all others, who get no answer here. */
  async failFor(req: Request, res: Response, error: unknown): Promise<boolean> {
    if (!opensPage(req)) return false;
    const entered = new Promise<void>((resolve, reject) => {
      void this.#parts.sessions.middleware(req, res, (problem?: unknown) => (problem ? reject(problem as Error) : resolve()));
    });
    // Who asks is only for the page's frame.
    const actor = await entered.then(() => this.enter(req, res)).catch(() => this.#parts.guest);
    await this.fail({ req, res, actor }, error);
    return true;
  }

  /** The way to the password and back; what was typed and is no secret waits for the return. */
  async #toConfirm(exchange: Exchange<Viewer>): Promise<void> {
    const { req, res, actor } = exchange;
    const back = pageOf(req);
    const fields = this.#pending.get(req)?.route?.options['keeps'] as readonly string[] | undefined;
    if (fields && !READS.has(req.method)) {
      const body = await this.body(req).catch(() => undefined);
      this.#parts.typed.leave(req, res, actor, { page: back.split('?', 1)[0]!, action: req.path, body, fields });
    }
    this.#redirect(exchange, redirect(`/login/confirm?return_to=${encodeURIComponent(back)}`));
  }

  /** The form that was left to give the password, as it was when it was sent. */
  async #retyped({ req, res, actor }: Exchange<Viewer>): Promise<View | undefined> {
    const typed = this.#parts.typed.take(req, res, actor);
    const route = typed && formRoute(this.#parts.routes.list(), typed.action);
    const again = route?.options['again'] as Again | undefined;
    if (!route || !again || !this.#mayReturn(req, actor, route)) return undefined;
    return again({ req, res, actor, params: pathParams(route.path, typed.action), body: typed.body, problems: [], message: '', status: 200 });
  }

  /** A refused form is shown again with what was typed, where its route knows how. */
  async #again({ req, res, actor }: Exchange<Viewer>, failure: Failure): Promise<boolean> {
    const route = this.#pending.get(req)?.route;
    const again = route?.options['again'] as Again | undefined;
    if (!route || !again || failure.status >= 500 || failure.status === 404 || !this.#mayReturn(req, actor, route)) return false;
    const locale = this.#parts.localeOf(req);
    const body = await this.body(req).then((value) => value as Readonly<Record<string, unknown>>, () => undefined);
    if (typeof body !== 'object' || body === null) return false;
    const message = AGAIN[failure.code] ? locale.text(AGAIN[failure.code] ?? '') : failure.details.length > 0 ? locale.text('web:form.problem') : failure.message;
    try {
      const shown = await again({ req, res, actor, params: pathParams(route.path, req.path), body, problems: failure.details, message, status: failure.status });
      await this.#show({ req, res, actor }, { ...shown, status: failure.status }, {});
      return true;
    } catch (error) {
      this.#parts.log.warn({ error, path: this.#loggedPath(req), plugin: route.plugin }, 'a refused form could not be shown again');
      return false;
    }
  }

  /**
   * A form stands on a page that not everybody may see. Whoever was logged in a moment ago gets back what they typed, but nothing that
   * belongs to staff.
   */
  #mayReturn(req: Request, actor: Viewer, { can, options }: RouteInfo): boolean {
    const { access, sessions } = this.#parts;
    if (isGuest(actor)) return can === 'public' || MEMBERS.has(can.default);
    return (options['confirm'] !== true || sessions.confirmed(req)) && (can === 'public' || access.allows(actor, can));
  }

  /** A parameter `:token` lets somebody in, so it stays out of the log. */
  #loggedPath(req: Request): string {
    const pattern = this.#pending.get(req)?.route?.path;
    return pattern?.includes('/:token') ? pattern : req.path;
  }

  #redirect({ req, res }: Exchange<Viewer>, { to, status, notice }: Redirect): void {
    if (notice !== undefined) leaveNotice(res, notice, { secure: this.#parts.http.secure(req) });
    this.#parts.headers.protect(res);
    res.set({ 'Cache-Control': 'no-store', 'X-Request-Id': this.#parts.http.idOf(req) });
    // Scripts are told where to go instead of following: over plain http `upgrade-insecure-requests` would send them to
    // https, and fetching the next page would use up its notice.
    if (req.headers['x-enhance'] === undefined) return res.redirect(status, to);
    res.set('X-Location', to).status(204).end();
  }

  #json(req: Request, res: Response, status: number, json: object): void {
    this.#parts.headers.protect(res);
    res.set({ 'X-Request-Id': this.#parts.http.idOf(req), 'Cache-Control': 'no-store', Vary: 'Accept' }).status(status).json(json);
  }

  /** `notice`: beside what was left for the next page. */
  async #show({ req, res, actor }: Exchange<Viewer>, page: View, { tags, notice: own }: { tags?: readonly string[] | undefined; notice?: string }): Promise<void> {
    const { pages, csrf } = this.#parts;
    const preferences = readPreferences(req.headers.cookie);
    // What a form left for its next page says more than that the session is over.
    const notice = own ?? takeNotice(req.headers.cookie, res) ?? withdrawNotice(res);
    const special = notice !== undefined || hasNotice(req.headers.cookie);
    const made = await pages.page(page, { viewer: actor, locale: this.#parts.localeOf(req), preferences, url: pageOf(req), notice });
    const token = csrf.token(req, res);
    if (tags && !special && page.status === 200) this.#keep(req, made, { tags: [...tags, ...made.tags], preferences, viewer: actor });
    // What answers a form, or a route that said so, may be shown this once only, such as a new token.
    const once = !READS.has(req.method) || res.getHeader('Cache-Control') === 'no-store';
    const etag = page.status === 200 && !special && !once ? etagOf(pageHash(made.text), token) : '';
    if (etag !== '' && req.headers['if-none-match'] === etag) return this.#unchanged(req, res, etag);
    this.#send(req, res, page.status, made.text, token, etag);
  }

  #keep(req: Request, made: Made, what: { tags: readonly string[]; preferences: ReturnType<typeof readPreferences>; viewer: Viewer }): void {
    const pending = this.#pending.get(req);
    if (!pending || req.method !== 'GET' || !onlyKnown(req, pending.route)) return;
    this.#parts.replay.keep(req, made.text, { ...what, mark: pending.mark, seconds: made.complete ? RENDERED_HOLDS / 1000 : PIECEMEAL });
  }

  #unchanged(req: Request, res: Response, etag: string): void {
    this.#protect(req, res, undefined);
    res.set({ ETag: etag, Vary: VARY, 'Cache-Control': 'private, no-cache' }).status(304).end();
  }

  #send(req: Request, res: Response, status: number, text: string, token: string, etag = ''): void {
    const nonce = createNonce();
    this.#protect(req, res, nonce);
    res.set({ 'Cache-Control': etag === '' ? 'private, no-store' : 'private, no-cache', Vary: VARY, ...(etag !== '' && { ETag: etag }) });
    res.status(status).type('html').send(fillMarks(text, { nonce, csrf: token }));
  }

  #protect(req: Request, res: Response, nonce: string | undefined): void {
    const lines = this.#parts.headers.forPage(nonce);
    // A route may be stricter than others about what its address gives away.
    const referrer = res.getHeader(REFERRER);
    for (let index = 0; index < lines.length; index += 2) res.setHeader(lines[index] ?? '', lines[index + 1] ?? '');
    if (referrer !== undefined) res.setHeader(REFERRER, referrer);
    res.setHeader('X-Request-Id', this.#parts.http.idOf(req));
  }
}

const REFERRER = 'Referrer-Policy';

type Again = (retry: Retry) => View | Promise<View>;

/** What a form says when it comes back for reasons that lie outside it. */
const AGAIN: Readonly<Record<string, string>> = { csrf_failed: 'web:form.expired', login_needed: 'web:form.session' };

/** The code of a request that a lately given password is missing for. */
const UNCONFIRMED = 'confirmation_needed';

/** A page is kept only under the queries it reads, or a made-up parameter would fill the memory with copies. */
function onlyKnown(req: Request, route: RouteInfo | undefined): boolean {
  const known = Object.keys((route?.query?.['properties' as keyof typeof route.query] as object | undefined) ?? {});
  return Object.keys(req.query).every((name) => known.includes(name));
}
