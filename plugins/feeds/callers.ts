import { HttpError, type PluginHandle, type Request, type RequestHandler, type Response } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import { feedIdentities, type FeedReader } from 'parley-forum/plugins/feeds';

export interface Caller extends FeedReader {
  /** The response is for this caller only, even if everyone may read all of it. */
  readonly personal: boolean;
  /**
   * The URL may contain a token, even an invalid one such as a mistyped one, so no cache between server and reader may
   * store the response.
   */
  readonly secret: boolean;
}

interface CallersDeps {
  readonly plugin: PluginHandle;
  readonly sessions: Sessions;
}

/** Identifies who requests a feed: by the bearer token, else by the URL, else by the session. */
export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** A bearer token takes precedence over the cookie, so the session behind the cookie is not even read. */
  readonly middleware: RequestHandler = (req, res, next) =>
    bearerToken(req) === undefined ? this.#deps.sessions.middleware(req, res, next) : next();

  /** Whether the request is certainly an ordinary guest's, as far as can be told synchronously. */
  anonymous({ headers, url = '/' }: Pick<Request, 'headers'> & { readonly url?: string | undefined }): boolean {
    if (bearerToken({ headers }) !== undefined || this.#deps.sessions.hasCookie(headers.cookie)) return false;
    return !this.#matches(url);
  }

  /** Throws 401 for an invalid bearer token. */
  async identify(req: Request, res: Response): Promise<Caller> {
    const { plugin, sessions } = this.#deps;
    const token = bearerToken(req);
    const secret = this.#matches(req.originalUrl);
    if (token !== undefined) {
      const viewer = token === '' ? undefined : await sessions.authenticateBearer(token);
      if (viewer) return { viewer, personal: true, secret };
      throw new HttpError(401, 'The bearer token is not valid', {
        code: 'invalid_token',
        headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
      });
    }
    for (const { plugin: id, value } of plugin.extensions(feedIdentities)) {
      const reader = value.matches(req.originalUrl)
        ? await plugin.attempt(id, 'reader of a feed', () => value.reader(req))
        : undefined;
      if (reader) return { ...reader, personal: true, secret };
    }
    // Feed readers poll, which must not keep a session alive.
    const viewer = await sessions.authenticate(req, res, { idle: true });
    return { viewer, personal: !isGuest(viewer), secret };
  }

  #matches(url: string): boolean {
    return this.#deps.plugin.extensions(feedIdentities).some(({ value }) => value.matches(url));
  }
}
