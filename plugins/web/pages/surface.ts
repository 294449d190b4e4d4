import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  HttpError,
  isFresh,
  runMiddleware,
  type Cache,
  type Clock,
  type Exchange,
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
import { accessTag, isGuest, limitFor, mayCall, type Access, type Viewer } from 'parley-forum/plugins/access';
import type { Csrf, Sessions } from 'parley-forum/plugins/accounts';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import type { Protection } from 'parley-forum/plugins/protection';
import { isAdminPath, findFormRoute, parentPage, currentPage, pathParams, SAFE_METHODS } from './paths.ts';
import {
  pages,
  phrase,
  redirect,
  renderedTag,
  RENDERED_TTL,
  view,
  switchValue,
  type Negotiated,
  type PageResult,
  type Redirect,
  type Resumed,
  type PageContext,
  type PageOptions,
  type SharedView,
  type View,
} from '../api.ts';
import { hasNotice, setNotice, takeNotice, takePendingNotice, type Notice } from './flash-notices.ts';
import {
  errorView,
  errorJson,
  inLanguage,
  toPageError,
  isPageNavigation,
  plainErrorPage,
  wantsJson,
  type PageError,
} from './errors.ts';
import { createNonce, type PageHeaders } from './headers.ts';
import { pageHash } from '../page-cache/cached-page.ts';
import type { Locale } from '../themes/locales.ts';
import { fillPlaceholders } from './placeholders.ts';
import type { PageBody, RenderedPage, PageRenderer } from './page-renderer.ts';
import type { PageContext as RenderContext } from './template-data.ts';
import { toFormFields, type PendingForms } from '../forms/pending-forms.ts';
import { preferencesKey, readPreferences } from '../appearance/preferences.ts';
import { etagOf, VARY, type PageCache } from '../page-cache/page-cache.ts';

/**
 * Seconds for which a page with a missing slot is cached: without it, the load of rendering each request again would
 * make every slot late.
 */
const INCOMPLETE_TTL = 1;
/** Approximate bytes per slot of a cached body: its share of the record from which slots are filled. */
const SLOT_BYTES = 768;
/** Maximum milliseconds for which a body is cached. */
const MAX_BODY_LIFETIME = 15 * 60_000;
/** Rate limit for forms and other writes per IP, shared by all users behind it. */
const WRITES: Bucket = { name: 'page-writes', window: 60 };

export interface PageSurfaceDeps {
  readonly renderer: PageRenderer;
  /** Changes whenever anything that pages are rendered with changes, and whenever a plugin starts or stops. */
  readonly bundleHash: () => string;
  readonly pageCache: PageCache;
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
  readonly clock: Clock;
  readonly log: Logger;
  /** Maximum writes per minute and IP. */
  readonly writeLimit: () => number;
  readonly guest: Viewer;
  readonly localeOf: (req: IncomingMessage) => Locale;
  readonly onPageView: (
    req: IncomingMessage,
    path: string,
    viewer: Viewer | undefined,
    key: string | undefined,
  ) => void;
}

/** The surface's own context of a request, in addition to what handlers get. */
interface OwnContext extends PageContext {
  /** The bundle that the page is rendered with: a plugin may stop and restart before rendering is done. */
  readonly bundleHash: string;
  /** Read before any data, so that a page is not cached if something changes in the meantime. */
  readonly cacheVersion: number;
  /**
   * Whether the body of a write may be read: cross-site requests are refused without reading it. Undefined before that
   * is decided.
   */
  readable?: boolean;
}
type PageExchange = Exchange<PageOptions> & Pick<OwnContext, 'actor'> & Partial<OwnContext>;
type PageRequest = RequestContext<OwnContext, PageOptions>;

/** Default levels of permissions whose pages show nothing that members may not see. */
const MEMBER_LEVELS = new Set(['everyone', 'member']);

/** Authenticates and protects page requests, and sends pages and errors. */
export class PageSurface implements SurfaceBehaviour<PageContext, PageResult, PageOptions, OwnContext> {
  readonly middleware: readonly RequestHandler[];
  readonly coerce = true;
  readonly #deps: PageSurfaceDeps;

  constructor(deps: PageSurfaceDeps) {
    this.#deps = deps;
    this.middleware = [deps.sessions.middleware];
  }

  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    return !isFragment(req) && this.#deps.pageCache.sendToGuest(req, res);
  }

  async authenticate({ req, res }: Exchange<PageOptions>): Promise<OwnContext> {
    const [cacheVersion, bundleHash] = [this.#deps.cache.version(), this.#deps.bundleHash()];
    return { actor: await this.#deps.sessions.authenticate(req, res), cacheVersion, bundleHash };
  }

  async protect(context: PageRequest): Promise<void> {
    const { req, actor, route } = context;
    const { sessions, csrf } = this.#deps;
    const write = !SAFE_METHODS.has(req.method);
    if (write) await this.#limitWrites(req, actor);
    const guarded = write && route.options.csrf !== false;
    context.readable = !guarded || csrf.verifiable(req);
    const sensitive = isSensitive(req, route);
    if (
      isGuest(actor) &&
      (!mayCall(this.#deps.access, actor, route.can) || sensitive || (write && sessions.ended(req)))
    )
      throw loginNeeded();
    if (guarded) await this.#verifyToken(context);
    if (sensitive && !sessions.confirmed(req))
      throw new HttpError(403, CONFIRMATION_MESSAGE, { code: CONFIRMATION_NEEDED });
  }

  /** Throws 403 if neither a header nor the form has the token; the body is read only if the header has none. */
  async #verifyToken(context: PageRequest): Promise<void> {
    const { csrf } = this.#deps;
    const { req } = context;
    if (csrf.verify(req)) return;
    const body = context.readable ? ((await context.readBody()) as Readonly<Record<string, unknown>> | null) : null;
    const given = body?.['_csrf'];
    if (typeof given !== 'string' || !csrf.verify(req, given))
      throw new HttpError(403, 'The form’s token is missing or too old; load the page again', { code: 'csrf_failed' });
  }

  /** Limits writes per IP, for members too, before the body is read. */
  async #limitWrites(req: Request, actor: Viewer): Promise<void> {
    const { limits, http, writeLimit: writes } = this.#deps;
    const limit = limitFor(actor, writes());
    assertAllowed(
      await limits.consume(WRITES, limits.ipKey(http.ip(req)), limit),
      (seconds) => `Too many forms were sent; try again in ${seconds} s`,
    );
  }

  fromCache({ req, res, actor }: PageRequest): boolean {
    return !wantsJson(req) && !isFragment(req) && this.#deps.pageCache.sendToMember(req, res, actor);
  }

  async parseBody({ req, route }: Exchange<PageOptions>): Promise<unknown> {
    const { multipart, longText } = route?.options ?? {};
    const body = await (multipart
      ? multipart(req)
      : this.#deps.protection.body(req, { form: true, longText: longText === true }));
    // A body may take its time: a session that was ended meanwhile must not leave anything that outlives it.
    if (route && isSensitive(req, route) && !(await this.#deps.sessions.reauthenticate(req))) throw loginNeeded();
    return req.is('urlencoded') ? withSwitches(body, route) : body;
  }

  async respond(context: PageRequest, result: PageResult, tags: readonly string[] | undefined): Promise<void> {
    if (result.kind === 'negotiated') {
      if (wantsJson(context.req)) return this.#negotiatedJson(context, result);
      return this.respond(context, result.page, undefined);
    }
    if (result.kind === 'redirect') return this.#redirect(context, result);
    if (result.kind === 'resumed') return this.#resume(context, result);
    // A fragment fetched by a script, before anyone looks at it, is not a visit.
    if (isFragment(context.req)) return this.#sendFragment(context, result, tags ?? []);
    await this.#sendPage(context, result, { tags });
    if ((result.kind === 'shared' || result.status === 200) && context.req.method === 'GET')
      this.#deps.onPageView(context.req, context.req.originalUrl, context.actor, this.#guestKey(context));
  }

  #negotiatedJson({ req, res, actor }: PageRequest, { json, status }: Negotiated): void {
    if (!(json instanceof HttpError)) return this.#json(req, res, status, json);
    return this.#json(req, res, json.status, errorJson(toPageError(json, actor), this.#deps.http.requestId(req)));
  }

  /** Distinguishes a returning guest's browser from others, as for cached pages. */
  #guestKey({ req, actor }: PageExchange): string | undefined {
    const { cookie } = req.headers;
    if (!isGuest(actor) || cookie === undefined) return undefined;
    const { token, setCookie } = this.#deps.csrf.guestToken(cookie, this.#deps.http.secure(req));
    return setCookie === undefined ? token : undefined;
  }

  async fail(exchange: Exchange<PageOptions> & Partial<OwnContext>, failure: HttpError): Promise<void> {
    const context: PageExchange = Object.assign(exchange, { actor: exchange.actor ?? this.#deps.guest });
    const { req, res, actor } = context;
    const pageError = explainRequirement(toPageError(failure, actor), actor);
    const requestId = this.#deps.http.requestId(req);
    if (res.headersSent) return void res.destroy();
    // After a form was sent, its URL is in the address bar; a reload redirects to the page that the form belongs to.
    if (pageError.status === 405 && SAFE_METHODS.has(req.method) && isPageNavigation(req))
      return this.#redirect(context, redirect(parentPage(this.#deps.routes.list(), req.path)));
    res.set({ ...pageError.headers });
    const json = wantsJson(req) || (pageError.code === CONFIRMATION_NEEDED && Boolean(req.is('json')));
    if (json) return void this.#json(req, res, pageError.status, errorJson(pageError, requestId));
    if (pageError.code === CONFIRMATION_NEEDED) return this.#askToConfirm(context);
    const remedy = remedyPage(req, actor, pageError, (message) => this.#deps.localeOf(req).failure(message));
    if (remedy) return this.#redirect(context, remedy);
    if (await this.#redisplayForm(context, pageError)) return;
    await this.#sendErrorView(context, pageError, requestId);
  }

  /** Falls back to a page without the frame if the frame is what fails. */
  async #sendErrorView(context: PageExchange, pageError: PageError, requestId: string): Promise<void> {
    const { req, res, actor } = context;
    try {
      await this.#sendPage(
        context,
        errorView(pageError, {
          locale: this.#deps.localeOf(req),
          viewer: actor,
          url: req.originalUrl,
          back: currentPage(req),
          requestId,
        }),
        {},
      );
    } catch (cause) {
      this.#deps.log.error({ error: cause, request: requestId }, 'the error page failed too');
      this.#send(req, res, pageError.status, Buffer.from(plainErrorPage(pageError, requestId)), '');
    }
  }

  /**
   * For other surfaces: sends the error page if a browser navigates to a page; otherwise sends nothing and returns
   * false.
   */
  async sendErrorPage(req: Request, res: Response, failure: HttpError): Promise<boolean> {
    if (!isPageNavigation(req)) return false;
    const { sessions, guest } = this.#deps;
    // The viewer only matters for the page's frame.
    const actor = await runMiddleware(sessions.middleware, req, res)
      .then(() => sessions.authenticate(req, res))
      .catch(() => guest);
    await this.fail({ req, res, actor, route: undefined, readBody: () => Promise.resolve(undefined) }, failure);
    return true;
  }

  /** Asks for the password; a submitted form goes along, and is brought back by `resumed`. */
  async #askToConfirm(context: PageExchange): Promise<void> {
    const { req, res, actor, route } = context;
    const page = currentPage(req);
    const confirm = findFormRoute(this.#deps.routes.list(pages), CONFIRM_PATH);
    const rerender = confirm?.options.rerender;
    if (SAFE_METHODS.has(req.method) || !rerender)
      return this.#redirect(context, redirect(`${CONFIRM_PATH}?return_to=${encodeURIComponent(page)}`));
    // Only the user can put a file into a form, so they have to choose it again.
    const pending =
      route &&
      !route.options.multipart &&
      this.#deps.pendingForms.seal(
        { route, action: req.path, page, body: await context.readBody().catch(() => undefined) },
        actor,
      );
    const message = this.#deps.localeOf(req).text(pending === undefined ? 'web:confirm.lost' : 'web:confirm.kept');
    const body = { return_to: page, ...(pending !== undefined && { pending }) };
    await this.#sendPage(
      context,
      { ...(await rerender({ req, res, actor, params: {}, body, problems: [], message, status: 403 })), status: 403 },
      {},
    );
  }

  /**
   * Shows the form for which its sender had to confirm who they are: filled in as it was sent, or as a single button if
   * its page cannot show all of it. It is never submitted automatically.
   */
  async #resume(context: PageExchange, { pending, fallback }: Resumed): Promise<void> {
    const { req, res, actor } = context;
    const form = pending === undefined ? undefined : this.#deps.pendingForms.open(pending, actor);
    const route =
      form && this.#deps.routes.list(pages).find(({ method, path }) => method === 'post' && path === form.route);
    if (!form || !route || !this.#mayRedisplay(req, actor, route)) return this.#redirect(context, fallback);
    const rerender = route.options.rerender;
    if (rerender && route.options.resendButton !== true) {
      const notice = this.#deps
        .localeOf(req)
        .text(form.secrets.length > 0 ? 'web:form.confirmed-secrets' : 'web:form.confirmed');
      const shown = await rerender({
        req,
        res,
        actor,
        params: pathParams(route.path, form.action),
        body: form.body,
        problems: [],
        message: '',
        status: 200,
      });
      return this.#sendPage(context, shown, { notice: { text: notice, kind: 'info' } });
    }
    const known = (route.body as { readonly properties?: object } | undefined)?.properties;
    // A button may submit the whole form around it, of which its route reads the fields it knows.
    const fields = toFormFields(form.body).filter(
      ({ name }) => !known || Object.hasOwn(known, name.split('[', 1)[0] ?? ''),
    );
    const model = {
      what: this.#deps.localeOf(req).text(route.summary ?? form.action),
      action: form.action,
      page: form.page,
      fields,
      shown: fields.filter(({ value }) => value !== ''),
      secrets: form.secrets.map((name) => ({ name })),
    };
    await this.#sendPage(
      context,
      view('@web/resume', { name: 'login', title: phrase('web:resume.title'), noindex: true }, model),
      {},
    );
  }

  /** Shows a refused form again with the values that were entered, if its route supports that. */
  async #redisplayForm(context: PageExchange, failed: PageError): Promise<boolean> {
    const { req, res, actor, route, readable } = context;
    const rerender = route?.options.rerender;
    if (
      !route ||
      !rerender ||
      !readable ||
      failed.status === 500 ||
      failed.status === 404 ||
      !this.#mayRedisplay(req, actor, route)
    )
      return false;
    const locale = this.#deps.localeOf(req);
    const pageError = inLanguage(failed, locale);
    const body = await context.readBody().then(
      (value) => value as Readonly<Record<string, unknown>>,
      () => undefined,
    );
    if (typeof body !== 'object' || body === null) return false;
    const message = REDISPLAY_TEXTS[pageError.code]
      ? locale.text(REDISPLAY_TEXTS[pageError.code] ?? '')
      : pageError.details.length > 0
        ? locale.text('web:form.problem')
        : pageError.message;
    try {
      const shown = await rerender({
        req,
        res,
        actor,
        params: pathParams(route.path, req.path),
        body,
        problems: pageError.details,
        message,
        status: pageError.status,
      });
      const sessionEnded = pageError.code === LOGIN_NEEDED;
      await this.#sendPage(context, { ...shown, status: pageError.status }, { sessionEnded });
      return true;
    } catch (error) {
      this.#deps.log.warn(
        { error, path: route.path, plugin: route.plugin },
        'a rejected form could not be shown again',
      );
      return false;
    }
  }

  /**
   * Not everyone may see the page of a form. A user whose session has just ended gets back what they entered, but
   * nothing that belongs to staff.
   */
  #mayRedisplay(req: Request, actor: Viewer, { can, options, path }: RouteInfo<PageOptions>): boolean {
    const { access, sessions } = this.#deps;
    // Files are not accepted from guests, who have to log in and choose them again anyway.
    if (isGuest(actor)) return !options.multipart && (typeof can === 'string' || MEMBER_LEVELS.has(can.default));
    return ((options.confirm !== true && !isAdminPath(path)) || sessions.confirmed(req)) && mayCall(access, actor, can);
  }

  #redirect({ req, res }: PageExchange, { to, status, notice, noticeKind: kind, undo }: Redirect): void {
    const script = req.headers['x-enhance'];
    const stays = script === 'stay';
    const said = notice === undefined ? undefined : this.#deps.localeOf(req).say(notice);
    if (said !== undefined && !stays)
      setNotice(res, { text: said, kind, undo }, { secure: this.#deps.http.secure(req) });
    this.#deps.headers.protect(res);
    res.set({ 'Cache-Control': 'no-store', 'X-Request-Id': this.#deps.http.requestId(req) });
    // Scripts receive the target instead of following it: over plain http `upgrade-insecure-requests` would send them
    // to https, and fetching the next page would use up its notice.
    if (script === undefined) return res.redirect(status, to);
    res.set('X-Location', to);
    if (stays) res.type('text').send(said ?? '');
    else res.status(204).end();
  }

  #json(req: Request, res: Response, status: number, json: object): void {
    this.#deps.headers.protect(res);
    res
      .set({ 'X-Request-Id': this.#deps.http.requestId(req), 'Cache-Control': 'no-store', Vary: 'Accept' })
      .status(status)
      .json(json);
  }

  /** Sends a page. `notice` takes precedence over one left for the next page. */
  async #sendPage(
    context: PageExchange,
    page: View | SharedView,
    {
      tags,
      notice: given,
      sessionEnded,
    }: { tags?: readonly string[] | undefined; notice?: Notice; sessionEnded?: boolean },
  ): Promise<void> {
    const { req, res, actor } = context;
    const { renderer, csrf } = this.#deps;
    const secure = this.#deps.http.secure(req);
    const preferences = readPreferences(req.headers.cookie, secure);
    // A notice that a form left for its next page says more than that the session is over.
    const notice = given ?? takeNotice(req.headers.cookie, res, secure) ?? takePendingNotice(res, secure);
    const special = notice !== undefined || hasNotice(req.headers.cookie, secure);
    const own = { ...this.#renderContext(context, notice), sessionEnded };
    const { status, ...rendered } =
      page.kind === 'shared'
        ? await this.#renderShared(context, page, tags ?? [], own)
        : { ...(await renderer.page(page, own)), status: page.status };
    const token = csrf.token(req, res);
    if (tags && !special && status === 200)
      this.#storePage(context, rendered, { tags: [...tags, ...rendered.tags], preferences, viewer: actor });
    // The response to a form, or of a route that asks for it, may be shown only once, such as a new token.
    const once = !SAFE_METHODS.has(req.method) || res.getHeader('Cache-Control') === 'no-store';
    const etag = status === 200 && !special && !once ? etagOf(pageHash(rendered.html), token) : '';
    if (etag !== '' && isFresh(req, etag)) return this.#notModified(req, res, etag);
    this.#send(req, res, status, rendered.html, token, etag);
  }

  /** Sends the page without its frame. It is not stored anywhere, and shows no notice that is meant for a page. */
  async #sendFragment(context: PageExchange, page: View | SharedView, tags: readonly string[]): Promise<void> {
    const { req, res } = context;
    const { renderer, csrf } = this.#deps;
    const own = this.#renderContext(context, undefined);
    const body = page.kind === 'shared' ? await this.#sharedBody(context, page, tags, own) : undefined;
    const shown = body ?? (page.kind === 'shared' ? await page.build(own.viewer) : page);
    const { html } = await renderer.unframed(shown, own);
    this.#send(req, res, shown.status, html, csrf.token(req, res));
  }

  #renderContext({ req, actor }: PageExchange, notice: Notice | undefined): RenderContext {
    return {
      viewer: actor,
      locale: this.#deps.localeOf(req),
      preferences: readPreferences(req.headers.cookie, this.#deps.http.secure(req)),
      url: currentPage(req),
      notice,
      confirmedUntil: this.#deps.sessions.confirmedUntil(req),
    };
  }

  /** Renders a shared page in the viewer's own frame. */
  async #renderShared(
    context: PageExchange,
    page: SharedView,
    tags: readonly string[],
    own: RenderContext,
  ): Promise<RenderedPage & { readonly status: number }> {
    const { renderer } = this.#deps;
    const body = await this.#sharedBody(context, page, tags, own);
    if (body) return { ...(await renderer.framed(body, own)), status: body.status };
    const view = await page.build(own.viewer);
    return { ...(await renderer.page(view, own)), status: view.status };
  }

  /** The body cached for all viewers with the same rights; undefined if it has to be the viewer's own. */
  async #sharedBody(
    { req, route, bundleHash }: PageExchange,
    page: SharedView,
    tags: readonly string[],
    own: RenderContext,
  ): Promise<PageBody | undefined> {
    const { renderer, access, cache, clock } = this.#deps;
    const representative = access.representative(own.viewer);
    const forAll = representative && {
      ...own,
      viewer: representative,
      url: knownUrl(req, route),
      notice: undefined,
      confirmedUntil: undefined,
    };
    const build = async (): Promise<PageBody | undefined> => {
      const view = await page.build(forAll!.viewer);
      return renderer.isPersonal(view) ? undefined : renderer.sharedBody(view, forAll!);
    };
    const key = `body ${bundleHash} ${access.signature(own.viewer)} ${isGuest(own.viewer)} ${page.variant} ${own.locale.key} ${preferencesKey(own.preferences)} ${forAll?.url}`;
    if (!forAll) return undefined;
    return cache.remember(key, [...tags, accessTag, renderedTag], build, {
      seconds: (found) =>
        found?.complete === false ? INCOMPLETE_TTL : bodyLifetime((found?.trueUntil ?? 0) - clock.now()) / 1000,
      bytes: (found) => (found?.html.bytes.length ?? 0) + SLOT_BYTES * (found?.occurrences.length ?? 0) + 1_024,
    });
  }

  #storePage(
    { req, route, cacheVersion, bundleHash }: PageExchange,
    rendered: RenderedPage,
    what: { tags: readonly string[]; preferences: ReturnType<typeof readPreferences>; viewer: Viewer },
  ): void {
    const unchanged = bundleHash === this.#deps.bundleHash();
    if (cacheVersion === undefined || !unchanged || req.method !== 'GET' || !hasOnlyKnownQuery(req, route)) return;
    this.#deps.pageCache.store(req, rendered.html, {
      ...what,
      cacheVersion,
      seconds: rendered.complete ? RENDERED_TTL / 1000 : INCOMPLETE_TTL,
    });
  }

  #notModified(req: Request, res: Response, etag: string): void {
    this.#protect(req, res, undefined);
    res.set({ ETag: etag, Vary: VARY, 'Cache-Control': 'private, no-cache' }).status(304).end();
  }

  #send(req: Request, res: Response, status: number, html: Buffer, token: string, etag = ''): void {
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
      .send(fillPlaceholders(html, { nonce, csrf: token }));
  }

  #protect(req: Request, res: Response, nonce: string | undefined): void {
    const lines = this.#deps.headers.forPage(nonce);
    // A route may be stricter than others about what its URL reveals.
    const referrer = res.getHeader(REFERRER);
    for (let index = 0; index < lines.length; index += 2) res.setHeader(lines[index] ?? '', lines[index + 1] ?? '');
    if (referrer !== undefined) res.setHeader(REFERRER, referrer);
    res.setHeader('X-Request-Id', this.#deps.http.requestId(req));
  }
}

const REFERRER = 'Referrer-Policy';

/**
 * Milliseconds for which a body is cached whose dates stay the same for `same` milliseconds. Dates are at most a minute
 * late, and the limit covers time-dependent content without a date, such as for how long a member counts as new.
 */
const bodyLifetime = (same: number): number => Math.min(Math.max(same, RENDERED_TTL), MAX_BODY_LIFETIME);

/** Whether a script fetches a page to take pieces from: the response then has no frame. */
const isFragment = ({ headers, method }: IncomingMessage): boolean =>
  headers['x-fragment'] !== undefined && method === 'GET';

/** If staff are refused because they have to meet a requirement first, the message names it. */
const explainRequirement = (pageError: PageError, { requirement: own }: Viewer): PageError =>
  own && pageError.status === 403 && pageError.code === 'forbidden'
    ? { ...pageError, code: own.code, message: own.message }
    : pageError;

/**
 * Redirects to the page on which a viewer can do what was missing; undefined if there is none, so that the error is
 * shown.
 */
function remedyPage(
  req: Request,
  actor: Viewer,
  { status, code, message }: PageError,
  say: (message: string) => string,
): Redirect | undefined {
  if (status === 401 && SAFE_METHODS.has(req.method) && isGuest(actor))
    return redirect(`/login?return_to=${encodeURIComponent(req.originalUrl)}`);
  if (code === actor.requirement?.code)
    return redirect(actor.requirement.path, { notice: say(message), noticeKind: 'info' });
  return undefined;
}

/** The error code of a request that requires a login. */
const LOGIN_NEEDED = 'login_needed';
const loginNeeded = (): HttpError => new HttpError(401, 'Log in to continue', { code: LOGIN_NEEDED });
/** Whether a request requires a recent confirmation of who sends it. */
const isSensitive = (req: Request, { options, path }: RouteInfo<PageOptions>): boolean =>
  options.confirm === true || (!SAFE_METHODS.has(req.method) && (isAdminPath(path) || isAdminPath(req.path)));
/** Messages of forms that are shown again for reasons that lie outside them. */
const REDISPLAY_TEXTS: Readonly<Record<string, string>> = {
  csrf_failed: 'web:form.expired',
  [LOGIN_NEEDED]: 'web:form.session',
};

/** The error code of a request that requires a recently confirmed password. */
const CONFIRMATION_NEEDED = 'confirmation_needed';
const CONFIRMATION_MESSAGE =
  'Confirm your identity, then repeat this request: POST /login/confirm with your password, and a code if two-factor login is on';
/** The form that asks for the password again. */
const CONFIRM_PATH = '/login/confirm';

/** Reduces each switch of a form to one value. */
function withSwitches(body: unknown, route: RouteInfo<PageOptions> | undefined): unknown {
  const { properties = {} } = (route?.body ?? {}) as { properties?: Readonly<Record<string, { type?: string }>> };
  const isSwitch = (name: string): boolean => Object.hasOwn(properties, name) && properties[name]?.type === 'boolean';
  const fields = Object.entries((body ?? {}) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(fields.map(([name, value]) => [name, isSwitch(name) ? switchValue(value) : value]));
}

/** The query parameters that a page reads. */
const knownQuery = (route: RouteInfo<PageOptions> | undefined): readonly string[] =>
  Object.keys((route?.query?.['properties' as keyof typeof route.query] as object | undefined) ?? {});

/** A page is cached only for the query parameters it reads; invented ones would fill the memory with copies. */
function hasOnlyKnownQuery(req: Request, route: RouteInfo<PageOptions> | undefined): boolean {
  const known = knownQuery(route);
  return Object.keys(req.query).every((name) => known.includes(name));
}

/** The URL of a page without the query parameters that it does not read. */
function knownUrl(req: Request, route: RouteInfo<PageOptions> | undefined): string {
  const given = knownQuery(route)
    .filter((name) => req.query[name] !== undefined)
    .map((name): [string, string] => [name, String(req.query[name])]);
  return given.length === 0 ? req.path : `${req.path}?${new URLSearchParams(given)}`;
}
