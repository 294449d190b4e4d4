import {
  defineSurface,
  HttpError,
  type AnonymousContext,
  type Exchange,
  type Http,
  type Request,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import { violationsIn, type Violation } from './violations.ts';

/** Without sessions or CSRF tokens: browsers send reports by themselves. */
export const reportSurface = defineSurface<AnonymousContext>('policy-reports', { prefix: '/reports/csp' });

/** The maximum size of a report in bytes. */
const MAX_BYTES = 16 * 1024;
const TYPES = ['application/csp-report', 'application/reports+json'];
const REPORTS: Bucket = { name: 'policy_reports', window: 60 };

export interface ReportSurfaceDeps {
  readonly http: Http;
  readonly limits: Limits;
  readonly protection: Protection;
  /** The maximum number of reports accepted per IP address and minute. */
  rate(): number;
}

/** How reports are received: rate-limited by IP address and answered with an empty response. */
export class ReportSurface implements SurfaceBehaviour<AnonymousContext> {
  readonly #deps: ReportSurfaceDeps;

  constructor(deps: ReportSurfaceDeps) {
    this.#deps = deps;
  }

  /** Parses the violations in a report. Throws 400, 413 and 415. */
  static async read(req: Request, protection: Protection): Promise<readonly Violation[]> {
    const [type = ''] = (req.headers['content-type'] ?? '').toLowerCase().split(';');
    if (!TYPES.includes(type.trim())) throw new HttpError(415, `Send the report as ${TYPES.join(' or ')}`);
    return violationsIn(protection.json(await protection.bytes(req, MAX_BYTES)));
  }

  async authenticate({ req }: Exchange): Promise<AnonymousContext> {
    const { http, limits, rate } = this.#deps;
    assertAllowed(
      await limits.consume(REPORTS, limits.ipKey(http.ip(req)), rate()),
      () => 'Too many reports; send the next one later',
    );
    return { actor: undefined };
  }

  respond({ req, res }: Exchange): void {
    this.#head(req, res).status(204).end();
  }

  fail({ req, res }: Exchange, { status, message, code, headers }: HttpError): void {
    if (res.headersSent) return void res.destroy();
    this.#head(req, res)
      .set({ ...headers })
      .status(status)
      .json({ success: false, error: message, code, request_id: this.#deps.http.requestId(req) });
  }

  #head(req: Request, res: Response): Response {
    for (const [name, value] of this.#deps.protection.headers(DATA_POLICY)) res.setHeader(name, value);
    return res.set({ 'Cache-Control': 'no-store', 'X-Request-Id': this.#deps.http.requestId(req) });
  }
}
