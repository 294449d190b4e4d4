import type { IncomingMessage } from 'node:http';
import {
  HttpError,
  type Cache, type Environment, type Exchange, type Http, type Logger, type Request, type RequestHandler, type Response, type RouteInfo, type SurfaceBehaviour,
} from '#core';
import { isGuest, type Viewer } from '#plugins/access';
import type { Csrf, Sessions } from '#plugins/accounts';
import type { Protection } from '#plugins/protection';
import { redirect, RENDERED_HOLDS, type PageResult, type Redirect, type Retry, type View } from './api.ts';
import { hasNotice, leaveNotice, takeNotice } from './cookies.ts';
import { errorView, failureJson, failureOf, plainFailure, wantsJson, type Failure } from './failure.ts';
import { createNonce, type PageHeaders } from './headers.ts';
import { pageHash } from './kept.ts';
import type { Locale } from './locales.ts';
import { fillMarks } from './marks.ts';
import type { Made, Pages } from './page.ts';
import { readPreferences } from './preferences.ts';
import { etagOf, VARY, type Replay } from './replay.ts';

/** Seconds for which a page is kept that a slot was late for: without it, those who wait for the next one would make every slot late. */
const PIECEMEAL = 1;

export interface SurfaceParts {
  readonly pages: Pages;
  readonly replay: Replay;
  readonly headers: PageHeaders;
  readonly protection: Protection;
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

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

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
    if (!write || route.options['csrf'] === false || csrf.valid(req)) return;
    const given = ((await this.body(req)) as Readonly<Record<string, unknown>> | null)?.['_csrf'];
    if (typeof given !== 'string' || !csrf.valid(req, given)) throw new HttpError(403, 'The form’s token is missing or too old; load the page again', { code: 'csrf_failed' });
  }

  recall({ req, res, actor }: Exchange<Viewer>): boolean {
    return !wantsJson(req) && this.#parts.replay.recall(req, res, actor);
  }

  body(req: Request): Promise<unknown> {
    return this.#parts.protection.body(req, { form: true });
  }

  async succeed(exchange: Exchange<Viewer>, result: PageResult, route: RouteInfo, tags: readonly string[] | undefined): Promise<void> {
    if (result.kind === 'negotiated') {
      if (wantsJson(exchange.req)) return this.#json(exchange.req, exchange.res, result.status, result.json);
      return this.succeed(exchange, result.page, route, undefined);
    }
    if (result.kind === 'redirect') return this.#redirect(exchange, result);
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
    if (failure.status >= 500) log.error({ error, request: requestId, path: req.path }, 'a page failed');
    if (res.headersSent) return void res.destroy();
    res.set({ ...failure.headers });
    if (wantsJson(req)) return void this.#json(req, res, failure.status, failureJson(failure, requestId));
    const exchange = { req, res, actor };
    if (failure.status === 401 && READS.has(req.method) && isGuest(actor)) return this.#redirect(exchange, redirect(`/login?return_to=${encodeURIComponent(req.originalUrl)}`));
    if (await this.#again(exchange, failure)) return;
    try {
      await this.#show(exchange, errorView(failure, { locale: this.#parts.localeOf(req), viewer: actor, url: req.originalUrl, requestId }), {});
    } catch (cause) {
      log.error({ error: cause, request: requestId }, 'the error page failed too');
      this.#send(req, res, failure.status, plainFailure(failure, requestId), '');
    }
  }

  /** A refused form is shown again with what was typed, where its route knows how. */
  async #again({ req, res, actor }: Exchange<Viewer>, failure: Failure): Promise<boolean> {
    const route = this.#pending.get(req)?.route;
    const again = route?.options['again'] as ((retry: Retry) => View | Promise<View>) | undefined;
    if (!route || !again || failure.status >= 500 || failure.status === 404) return false;
    const locale = this.#parts.localeOf(req);
    const body = await this.body(req).then((value) => value as Readonly<Record<string, unknown>>, () => undefined);
    if (typeof body !== 'object' || body === null) return false;
    const message = AGAIN[failure.code] ? locale.text(AGAIN[failure.code] ?? '') : failure.details.length > 0 ? locale.text('web:form.problem') : failure.message;
    try {
      const shown = await again({ req, res, actor, params: pathParams(route.path, req.path), body, problems: failure.details, message, status: failure.status });
      await this.#show({ req, res, actor }, { ...shown, status: failure.status }, {});
      return true;
    } catch (error) {
      this.#parts.log.warn({ error, path: req.path, plugin: route.plugin }, 'a refused form could not be shown again');
      return false;
    }
  }

  #redirect({ req, res }: Exchange<Viewer>, { to, status, notice }: Redirect): void {
    if (notice !== undefined) leaveNotice(res, notice, this.#parts.http.secure(req));
    this.#protect(req, res, undefined);
    res.set('Cache-Control', 'no-store');
    // Scripts are told where to go instead of following: over plain http `upgrade-insecure-requests` would send them to
    // https, and fetching the next page would use up its notice.
    if (req.headers['x-enhance'] === undefined) return res.redirect(status, to);
    res.set('X-Location', to).status(204).end();
  }

  #json(req: Request, res: Response, status: number, json: object): void {
    this.#parts.headers.protect(res);
    res.set({ 'X-Request-Id': this.#parts.http.idOf(req), 'Cache-Control': 'no-store', Vary: 'Accept' }).status(status).json(json);
  }

  async #show({ req, res, actor }: Exchange<Viewer>, page: View, { tags }: { tags?: readonly string[] | undefined }): Promise<void> {
    const { pages, csrf } = this.#parts;
    const preferences = readPreferences(req.headers.cookie);
    const special = hasNotice(req.headers.cookie);
    const notice = special ? takeNotice(req.headers.cookie, res) : undefined;
    const made = await pages.page(page, { viewer: actor, locale: this.#parts.localeOf(req), preferences, url: req.originalUrl, notice });
    const token = csrf.token(req, res);
    if (tags && !special && page.status === 200) this.#keep(req, made, { tags, preferences, viewer: actor });
    // What answers a form may be shown this once only, such as a new token.
    const etag = page.status === 200 && !special && READS.has(req.method) ? etagOf(pageHash(made.text), token) : '';
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
    for (let index = 0; index < lines.length; index += 2) res.setHeader(lines[index] ?? '', lines[index + 1] ?? '');
    res.setHeader('X-Request-Id', this.#parts.http.idOf(req));
  }
}

/** What a form says when it comes back for reasons that lie outside it. */
const AGAIN: Readonly<Record<string, string>> = { csrf_failed: 'web:form.expired', login_needed: 'web:form.session' };

/** A page is kept only under the queries it reads, or a made-up parameter would fill the memory with copies. */
function onlyKnown(req: Request, route: RouteInfo | undefined): boolean {
  const known = Object.keys((route?.query?.['properties' as keyof typeof route.query] as object | undefined) ?? {});
  return Object.keys(req.query).every((name) => known.includes(name));
}

function pathParams(pattern: string, path: string): Record<string, string> {
  const [names, values] = [pattern.split('/'), path.split('/')];
  const pairs = names.flatMap((name, index) => (name.startsWith(':') ? [[name.slice(1), safeDecode(values[index] ?? '')]] : []));
  return Object.fromEntries(pairs) as Record<string, string>;
}
const safeDecode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
