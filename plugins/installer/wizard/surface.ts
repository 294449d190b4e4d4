import {
  defineSurface,
  HttpError,
  type RequestContext,
  type FieldProblem,
  type Http,
  type Exchange,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import { html, type Redirect, type Web } from 'parley-forum/plugins/web';
import {
  closedPage,
  renderDocument,
  linkNeededPage,
  installerPage,
  linkUsedPage,
  type InstallerPage,
} from './pages.ts';
import type { Text } from './connection-tests.ts';
import type { SetupService } from '../setup.ts';
import { isValidToken, type Visit, type Visits } from './visits.ts';

/** A form submission that was refused. */
export interface Retry {
  readonly visit: Visit;
  readonly body: Readonly<Record<string, unknown>>;
  readonly problems: readonly FieldProblem[];
  readonly message: string;
  readonly status: number;
}

/** A style sheet, sent as is. */
export interface StyleSheet {
  readonly kind: 'style';
  readonly text: string;
}

/** Route options of installer pages. */
export interface InstallerOptions {
  readonly open?: boolean;
  readonly always?: boolean;
  rerender?(retry: Retry): InstallerPage;
}

/** The context that installer pages get for a request. */
export interface InstallerContext {
  readonly actor: Visit | undefined;
}

/** Pages of the installer. */
export const installerSurface = defineSurface<
  InstallerContext,
  InstallerPage | Redirect | StyleSheet,
  InstallerOptions
>('installer', {
  prefix: '/install',
  options: {
    open: '`true`: requires no set-up link.',
    always: '`true`: available after the installation, too.',
    rerender: 'Renders a refused form again with the submitted values.',
  },
});

/**
 * Allows nothing but the installer's own style sheet and forms. `upgrade-insecure-requests` would break a site that has
 * no HTTPS yet.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-XSS-Protection': '0',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

export interface SurfaceDeps {
  readonly setup: SetupService;
  readonly visits: Visits;
  readonly protection: Protection;
  readonly http: Http;
  readonly web: Pick<Web, 'setNotice' | 'failure'>;
  readonly text: Text;
  readonly language: () => string;
  readonly installed: () => boolean;
}

const LINK_NEEDED = 'link_needed';
export const linkNeeded = (): HttpError =>
  new HttpError(401, 'Open the link that the server printed', { code: LINK_NEEDED });
const LINK_USED = 'link_used';
export const linkUsed = (): HttpError =>
  new HttpError(403, 'The set-up link was used in another browser; restart the server for a new one', {
    code: LINK_USED,
  });
const CLOSED = 'already_installed';

/** The behaviour of the installer's surface. */
export class InstallerSurface implements SurfaceBehaviour<
  InstallerContext,
  InstallerPage | Redirect | StyleSheet,
  InstallerOptions
> {
  readonly coerce = true;
  readonly #deps: SurfaceDeps;

  constructor(deps: SurfaceDeps) {
    this.#deps = deps;
  }

  authenticate({ req, res, route }: Exchange<InstallerOptions>): InstallerContext {
    const { setup, visits, http, protection } = this.#deps;
    for (const [name, value] of protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.set({ ...HEADERS, 'X-Request-Id': http.requestId(req) });
    if (route?.options.always) return { actor: undefined };
    if (setup.closed) throw new HttpError(403, 'A forum is already installed here', { code: CLOSED });
    const visit = visits.of(req);
    if (!visit && visits.claimed) throw linkUsed();
    if (!visit && route?.options.open !== true) throw linkNeeded();
    return { actor: visit };
  }

  async protect(context: RequestContext<InstallerContext, InstallerOptions>): Promise<void> {
    const { req, actor: visit } = context;
    if (req.method !== 'POST') return;
    const body = visit && ((await context.readBody()) as Readonly<Record<string, unknown>>);
    if (!visit || !isValidToken(visit, body?.['_csrf']))
      throw new HttpError(403, 'The form’s token is missing or has expired', { code: 'csrf_failed' });
  }

  parseBody({ req }: Exchange<InstallerOptions>): Promise<unknown> {
    return this.#deps.protection.body(req, { form: true });
  }

  respond({ req, res }: Exchange<InstallerOptions>, result: InstallerPage | Redirect | StyleSheet): void {
    if (result.kind === 'style') return void res.type('css').send(result.text);
    if (result.notice !== undefined) this.#deps.web.setNotice(req, res, result.notice);
    if (result.kind === 'redirect') return res.redirect(result.status, result.to);
    this.#send(res, result);
  }

  async fail(context: Exchange<InstallerOptions> & Partial<InstallerContext>, error: HttpError): Promise<void> {
    const { req, res } = context;
    const { http, text } = this.#deps;
    const failure =
      error.status === 500
        ? new HttpError(500, text('failed', { request: http.requestId(req) }), { cause: error })
        : error;
    if (res.headersSent) return void res.destroy();
    res.set({ ...failure.headers });
    this.#send(res, (await this.#rerender(context, failure)) ?? this.#errorPage(failure));
  }

  /** Renders a refused form again with the submitted values. */
  async #rerender(
    context: Exchange<InstallerOptions> & Partial<InstallerContext>,
    { status, code, details, message }: HttpError,
  ): Promise<InstallerPage | undefined> {
    // Once another browser has claimed the installation, there is no form to submit again.
    if (code === LINK_USED) return undefined;
    const { actor: visit, route, req } = context;
    const rerender = route?.options.rerender;
    if (!visit || !rerender || req.method !== 'POST') return undefined;
    const body = await context.readBody().catch(() => undefined);
    if (typeof body !== 'object' || body === null) return undefined;
    const { text, web } = this.#deps;
    const problems = details.map((problem) => ({ ...problem, message: web.failure(problem.message) }));
    const said = code === 'csrf_failed' ? text('expired') : details.length > 0 ? text('problem') : web.failure(message);
    return {
      ...rerender({ visit, body: body as Readonly<Record<string, unknown>>, problems, message: said, status }),
      status,
    };
  }

  #errorPage({ status, code, message }: HttpError): InstallerPage {
    const { text, installed, web } = this.#deps;
    if (code === LINK_NEEDED) return linkNeededPage(text);
    if (code === LINK_USED) return linkUsedPage(text);
    if (code === CLOSED) return closedPage(text, installed());
    return installerPage(
      text('failed.title'),
      html`<p>${status === 404 ? text('missing') : web.failure(message)}</p>`,
      { status },
    );
  }

  #send(res: Response, page: InstallerPage): void {
    if (page.next !== undefined) res.set('Refresh', `2; url=${page.next}`);
    res
      .status(page.status)
      .type('html')
      .send(renderDocument(page, this.#deps.text, this.#deps.language()).toString());
  }
}
