import type { IncomingMessage } from 'node:http';
import {
  HttpError,
  type Cache,
  type Environment,
  type RequestContext,
  type Http,
  type Logger,
  type Request,
  type RequestHandler,
  type Response,
  type RouteInfo,
  type Routes,
  type SurfaceBehaviour,
} from 'parley-forum';
import { isGuest, isStaff, type Access, type Viewer } from 'parley-forum/plugins/access';
import type { Csrf, Sessions } from 'parley-forum/plugins/accounts';
import { multipartOf } from 'parley-forum/plugins/api';
import { demand, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import type { Protection } from 'parley-forum/plugins/protection';
import { belowAdmin, formRoute, pageAbove, pageOf, pathParams, READS } from './paths.ts';
import {
  pages,
  redirect,
  RENDERED_HOLDS,
  view,
  type PageResult,
  type Redirect,
  type Resumed,
  type Retry,
  type View,
} from '../api.ts';
import { hasNotice, leaveNotice, takeNotice, withdrawNotice } from './flash-notices.ts';
import { errorView, failureJson, failureOf, opensPage, plainFailure, wantsJson, type Failure } from './errors.ts';
import { createNonce, type PageHeaders } from './headers.ts';
import { pageHash } from '../page-cache/cached-page.ts';
import type { Locale } from '../themes/locales.ts';
import { fillMarks } from './placeholders.ts';
import type { Made, Pages } from './page-renderer.ts';
import { fieldsOf, type PendingForms } from '../forms/pending-forms.ts';
import { readPreferences } from '../appearance/preferences.ts';
import { etagOf, VARY, type Replay } from '../page-cache/page-cache.ts';

/**
 * Seconds for which a page is kept that a slot was late for: without it, those who wait for the next one would make
 * every slot late.
 */
const PIECEMEAL = 1;
/** Forms and other writes of one address, whoever sends them. */
const WRITES: Bucket = { name: 'page-writes', window: 60 };
/** Moderators work through queues. */
const STAFF_FACTOR = 5;

export interface SurfaceParts {
  readonly pages: Pages;
  /** Changes with everything pages are made with, and whenever a plugin started or stopped. */
  readonly lookHash: () => string;
  readonly replay: Replay;
  readonly routes: Routes;
  readonly pendingForms: PendingForms;
  readonly headers: PageHeaders;
  readonly protection: Protection;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly limits: Limits;
  readonly http: Http;
  readonly cache: Cache;
  readonly environment: Environment;
  readonly log: Logger;
  /** Writes a minute and address. */
  readonly writes: () => number;
  readonly guest: Viewer;
  readonly localeOf: (req: IncomingMessage) => Locale;
  readonly seen: (req: IncomingMessage, path: string, viewer: Viewer | undefined, key: string | undefined) => void;
}

interface Pending {
  /** What the page is made with: one of the plugins may have stopped and come back before it is done. */
  readonly look: string;
  /** Taken before anything is read, so that a change meanwhile keeps the page from being kept. */
  readonly mark: number;
  route?: RouteInfo;
  /** Whether the body of a write may be read: what comes from elsewhere is refused without. */
  readable?: boolean;
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

  fastPath(...[req, res]: Parameters<NonNullable<SurfaceBehaviour<Viewer>['fastPath']>>): boolean {
    return this.#parts.replay.answer(req, res);
  }

  async authenticate(req: Request, res: Response): Promise<Viewer> {
    this.#pending.set(req, { mark: this.#parts.cache.mark(), look: this.#parts.lookHash() });
    return this.#parts.sessions.identify(req, res);
  }

  async protect({ req, actor }: RequestContext<Viewer>, route: RouteInfo): Promise<void> {
    const { sessions, csrf } = this.#parts;
    const write = !READS.has(req.method);
    if (write) await this.#count(req, actor);
    const guarded = write && route.options['csrf'] !== false;
    const readable = !guarded || csrf.possible(req);
    const pending = this.#pending.get(req);
    if (pending) Object.assign(pending, { route, readable });
    const sensitive = route.options['confirm'] === true || (write && (belowAdmin(route.path) || belowAdmin(req.path)));
    if (isGuest(actor) && (route.options['login'] === true || sensitive || (write && sessions.ended(req))))
      throw new HttpError(401, 'Log in to go on', { code: 'login_needed' });
    if (guarded && !csrf.valid(req)) {
      const given = readable
        ? ((await this.parseBody(req)) as Readonly<Record<string, unknown>> | null)?.['_csrf']
        : undefined;
      if (typeof given !== 'string' || !csrf.valid(req, given))
        throw new HttpError(403, 'The form’s token is missing or too old; load the page again', {
          code: 'csrf_failed',
        });
    }
    if (sensitive && !sessions.confirmed(req)) throw new HttpError(403, UNCONFIRMED_SAYS, { code: UNCONFIRMED });
  }

  /** By address, whoever is logged in: before anything of the body is read. */
  async #count(req: Request, actor: Viewer): Promise<void> {
    const { limits, http, writes } = this.#parts;
    const limit = writes() * (isStaff(actor) ? STAFF_FACTOR : 1);
    demand(
      await limits.consume(WRITES, limits.addressKey(http.addressOf(req)), limit),
      (seconds) => `Too many forms were sent; try again in ${seconds} s`,
    );
  }

  fromCache({ req, res, actor }: RequestContext<Viewer>): boolean {
    return !wantsJson(req) && this.#parts.replay.recall(req, res, actor);
  }

  parseBody(req: Request): Promise<unknown> {
    const route = this.#pending.get(req)?.route;
    const multipart = multipartOf(route);
    if (multipart) return multipart(req);
    return this.#parts.protection.body(req, { form: true, longText: route?.options['longText'] === true });
  }

  async respond(
    exchange: RequestContext<Viewer>,
    result: PageResult,
    route: RouteInfo,
    tags: readonly string[] | undefined,
  ): Promise<void> {
    if (result.kind === 'negotiated') {
      if (wantsJson(exchange.req)) return this.#json(exchange.req, exchange.res, result.status, result.json);
      return this.respond(exchange, result.page, route, undefined);
    }
    if (result.kind === 'redirect') return this.#redirect(exchange, result);
    if (result.kind === 'resumed') return this.#resume(exchange, result);
    await this.#show(exchange, result, { tags });
    if (result.status === 200 && exchange.req.method === 'GET')
      this.#parts.seen(exchange.req, exchange.req.originalUrl, exchange.actor, this.#keyOf(exchange));
  }

  /** Tells a returning guest's browser from others, as for pages from stored bytes. */
  #keyOf({ req, actor }: RequestContext<Viewer>): string | undefined {
    const { cookie } = req.headers;
    if (!isGuest(actor) || cookie === undefined) return undefined;
    const { token, setCookie } = this.#parts.csrf.guestToken(cookie, this.#parts.http.secure(req));
    return setCookie === undefined ? token : undefined;
  }

  async fail(
    { req, res, actor = this.#parts.guest }: RequestContext<Viewer | undefined>,
    error: unknown,
  ): Promise<void> {
    const { log, http } = this.#parts;
    const failure = demanded(failureOf(error, actor), actor);
    const requestId = http.idOf(req);
    if (failure.status >= 500) log.error({ error, request: requestId, path: this.#loggedPath(req) }, 'a page failed');
    if (res.headersSent) return void res.destroy();
    const exchange = { req, res, actor };
    // The address of a form that was sent is in the address bar; whoever loads it again is led to the page that it
    // belongs to.
    if (failure.status === 405 && READS.has(req.method) && opensPage(req))
      return this.#redirect(exchange, redirect(pageAbove(this.#parts.routes.list(), req.path)));
    res.set({ ...failure.headers });
    const json = wantsJson(req) || (failure.code === UNCONFIRMED && Boolean(req.is('json')));
    if (json) return void this.#json(req, res, failure.status, failureJson(failure, requestId));
    if (failure.status === 401 && READS.has(req.method) && isGuest(actor))
      return this.#redirect(exchange, redirect(`/login?return_to=${encodeURIComponent(req.originalUrl)}`));
    if (failure.code === UNCONFIRMED) return this.#toConfirm(exchange);
    if (failure.code === actor.demand?.code)
      return this.#redirect(exchange, redirect(actor.demand.path, { notice: failure.message }));
    if (await this.#again(exchange, failure)) return;
    try {
      await this.#show(
        exchange,
        errorView(failure, {
          locale: this.#parts.localeOf(req),
          viewer: actor,
          url: req.originalUrl,
          back: pageOf(req),
          requestId,
        }),
        {},
      );
    } catch (cause) {
      log.error({ error: cause, request: requestId }, 'the error page failed too');
      this.#send(req, res, failure.status, plainFailure(failure, requestId), '');
    }
  }

  /**
   * For other surfaces: answers with the page of what went wrong where a browser opens a page; false for all others,
   * who get no answer here.
   */
  async failFor(req: Request, res: Response, error: unknown): Promise<boolean> {
    if (!opensPage(req)) return false;
    const entered = new Promise<void>((resolve, reject) => {
      void this.#parts.sessions.middleware(req, res, (problem?: unknown) =>
        problem ? reject(problem as Error) : resolve(),
      );
    });
    // Who asks is only for the page's frame.
    const actor = await entered.then(() => this.authenticate(req, res)).catch(() => this.#parts.guest);
    await this.fail({ req, res, actor }, error);
    return true;
  }

  /** Asks for the password; a form that was sent goes along, and is brought back by `resumed`. */
  async #toConfirm(exchange: RequestContext<Viewer>): Promise<void> {
    const { req, res, actor } = exchange;
    const page = pageOf(req);
    const confirm = formRoute(this.#parts.routes.list(), CONFIRM);
    const again = confirm?.options['again'] as Again | undefined;
    if (READS.has(req.method) || !again)
      return this.#redirect(exchange, redirect(`${CONFIRM}?return_to=${encodeURIComponent(page)}`));
    const route = this.#pending.get(req)?.route;
    // A file cannot be put into a form by anybody but its sender, who has to choose it again.
    const pending =
      route &&
      !multipartOf(route) &&
      this.#parts.pendingForms.seal(
        { route, action: req.path, page, body: await this.parseBody(req).catch(() => undefined) },
        actor,
      );
    const message = this.#parts.localeOf(req).text(pending === undefined ? 'web:confirm.lost' : 'web:confirm.kept');
    const body = { return_to: page, ...(pending !== undefined && { pending }) };
    await this.#show(
      exchange,
      { ...(await again({ req, res, actor, params: {}, body, problems: [], message, status: 403 })), status: 403 },
      {},
    );
  }

  /**
   * The form that its sender had to confirm for: filled as it was sent, or as one button where its page cannot show all
   * of it. It is never sent by itself.
   */
  async #resume(exchange: RequestContext<Viewer>, { pending, otherwise }: Resumed): Promise<void> {
    const { req, res, actor } = exchange;
    const form = pending === undefined ? undefined : this.#parts.pendingForms.open(pending, actor);
    const route =
      form &&
      this.#parts.routes
        .list()
        .find(({ surface, method, path }) => surface.id === pages.id && method === 'post' && path === form.route);
    if (!form || !route || !this.#mayReturn(req, actor, route)) return this.#redirect(exchange, otherwise);
    const again = route.options['again'] as Again | undefined;
    if (again && route.options['button'] !== true) {
      const notice = this.#parts
        .localeOf(req)
        .text(form.secrets.length > 0 ? 'web:form.confirmed-secrets' : 'web:form.confirmed');
      const shown = await again({
        req,
        res,
        actor,
        params: pathParams(route.path, form.action),
        body: form.body,
        problems: [],
        message: '',
        status: 200,
      });
      return this.#show(exchange, shown, { notice });
    }
    const known = (route.body as { readonly properties?: object } | undefined)?.properties;
    // A button may send the whole form around it, of which its route reads the fields it knows.
    const fields = fieldsOf(form.body).filter(
      ({ name }) => !known || Object.hasOwn(known, name.split('[', 1)[0] ?? ''),
    );
    const model = {
      what: route.summary ?? form.action,
      action: form.action,
      page: form.page,
      fields,
      shown: fields.filter(({ value }) => value !== ''),
      secrets: form.secrets.map((name) => ({ name })),
    };
    await this.#show(
      exchange,
      view(
        '@web/resume',
        { name: 'login', title: this.#parts.localeOf(req).text('web:resume.title'), hidden: true },
        model,
      ),
      {},
    );
  }

  /** A refused form is shown again with what was typed, where its route knows how. */
  async #again({ req, res, actor }: RequestContext<Viewer>, failure: Failure): Promise<boolean> {
    const { route, readable } = this.#pending.get(req) ?? {};
    const again = route?.options['again'] as Again | undefined;
    if (
      !route ||
      !again ||
      !readable ||
      failure.status === 500 ||
      failure.status === 404 ||
      !this.#mayReturn(req, actor, route)
    )
      return false;
    const locale = this.#parts.localeOf(req);
    const body = await this.parseBody(req).then(
      (value) => value as Readonly<Record<string, unknown>>,
      () => undefined,
    );
    if (typeof body !== 'object' || body === null) return false;
    const message = AGAIN[failure.code]
      ? locale.text(AGAIN[failure.code] ?? '')
      : failure.details.length > 0
        ? locale.text('web:form.problem')
        : failure.message;
    try {
      const shown = await again({
        req,
        res,
        actor,
        params: pathParams(route.path, req.path),
        body,
        problems: failure.details,
        message,
        status: failure.status,
      });
      await this.#show({ req, res, actor }, { ...shown, status: failure.status }, {});
      return true;
    } catch (error) {
      this.#parts.log.warn(
        { error, path: this.#loggedPath(req), plugin: route.plugin },
        'a refused form could not be shown again',
      );
      return false;
    }
  }

  /**
   * A form stands on a page that not everybody may see. Whoever was logged in a moment ago gets back what they typed,
   * but nothing that belongs to staff.
   */
  #mayReturn(req: Request, actor: Viewer, { can, options, path }: RouteInfo): boolean {
    const { access, sessions } = this.#parts;
    if (isGuest(actor)) return can === 'public' || MEMBERS.has(can.default);
    return (
      ((options['confirm'] !== true && !belowAdmin(path)) || sessions.confirmed(req)) &&
      (can === 'public' || access.allows(actor, can))
    );
  }

  /** A parameter `:token` lets somebody in, so it stays out of the log. */
  #loggedPath(req: Request): string {
    const pattern = this.#pending.get(req)?.route?.path;
    return pattern?.includes('/:token') ? pattern : req.path;
  }

  #redirect({ req, res }: RequestContext<Viewer>, { to, status, notice }: Redirect): void {
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
    res
      .set({ 'X-Request-Id': this.#parts.http.idOf(req), 'Cache-Control': 'no-store', Vary: 'Accept' })
      .status(status)
      .json(json);
  }

  /** `notice`: beside what was left for the next page. */
  async #show(
    { req, res, actor }: RequestContext<Viewer>,
    page: View,
    { tags, notice: own }: { tags?: readonly string[] | undefined; notice?: string },
  ): Promise<void> {
    const { pages: maker, csrf } = this.#parts;
    const secure = this.#parts.http.secure(req);
    const preferences = readPreferences(req.headers.cookie, secure);
    // What a form left for its next page says more than that the session is over.
    const notice = own ?? takeNotice(req.headers.cookie, res, secure) ?? withdrawNotice(res, secure);
    const special = notice !== undefined || hasNotice(req.headers.cookie, secure);
    const made = await maker.page(page, {
      viewer: actor,
      locale: this.#parts.localeOf(req),
      preferences,
      url: pageOf(req),
      notice,
      confirmedUntil: this.#parts.sessions.confirmedUntil(req),
    });
    const token = csrf.token(req, res);
    if (tags && !special && page.status === 200)
      this.#keep(req, made, { tags: [...tags, ...made.tags], preferences, viewer: actor });
    // What answers a form, or a route that said so, may be shown this once only, such as a new token.
    const once = !READS.has(req.method) || res.getHeader('Cache-Control') === 'no-store';
    const etag = page.status === 200 && !special && !once ? etagOf(pageHash(made.text), token) : '';
    if (etag !== '' && req.headers['if-none-match'] === etag) return this.#unchanged(req, res, etag);
    this.#send(req, res, page.status, made.text, token, etag);
  }

  #keep(
    req: Request,
    made: Made,
    what: { tags: readonly string[]; preferences: ReturnType<typeof readPreferences>; viewer: Viewer },
  ): void {
    const pending = this.#pending.get(req);
    if (!pending || pending.look !== this.#parts.lookHash() || req.method !== 'GET' || !onlyKnown(req, pending.route))
      return;
    this.#parts.replay.keep(req, made.text, {
      ...what,
      mark: pending.mark,
      seconds: made.complete ? RENDERED_HOLDS / 1000 : PIECEMEAL,
    });
  }

  #unchanged(req: Request, res: Response, etag: string): void {
    this.#protect(req, res, undefined);
    res.set({ ETag: etag, Vary: VARY, 'Cache-Control': 'private, no-cache' }).status(304).end();
  }

  #send(req: Request, res: Response, status: number, text: string, token: string, etag = ''): void {
    const nonce = createNonce();
    this.#protect(req, res, nonce);
    res.set({
      'Cache-Control': etag === '' ? 'private, no-store' : 'private, no-cache',
      Vary: VARY,
      ...(etag !== '' && { ETag: etag }),
    });
    res
      .status(status)
      .type('html')
      .send(fillMarks(text, { nonce, csrf: token }));
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

/** What somebody of the staff may not do as long as something is demanded of them says what. */
const demanded = (failure: Failure, { demand: own }: Viewer): Failure =>
  own && failure.status === 403 && failure.code === 'forbidden'
    ? { ...failure, code: own.code, message: own.message }
    : failure;

type Again = (retry: Retry) => View | Promise<View>;

/** What a form says when it comes back for reasons that lie outside it. */
const AGAIN: Readonly<Record<string, string>> = { csrf_failed: 'web:form.expired', login_needed: 'web:form.session' };

/** The code of a request that a lately given password is missing for. */
const UNCONFIRMED = 'confirmation_needed';
const UNCONFIRMED_SAYS =
  'Confirm that it is you, then send this again: POST /login/confirm with your password, and a code where two-factor login is on';
/** The form that asks for the password again. */
const CONFIRM = '/login/confirm';

/** A page is kept only under the queries it reads, or a made-up parameter would fill the memory with copies. */
function onlyKnown(req: Request, route: RouteInfo | undefined): boolean {
  const known = Object.keys((route?.query?.['properties' as keyof typeof route.query] as object | undefined) ?? {});
  return Object.keys(req.query).every((name) => known.includes(name));
}
