import { HttpError, type PluginHandle, type Request, type RequestHandler, type Response } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import { feedIdentities, type FeedReader } from 'parley-forum/plugins/feeds';

export interface Caller extends FeedReader {
  /** The response is for this caller alone, even where everybody may read all of it. */
  readonly personal: boolean;
  /** The URL may hold a token, also one that names nobody, such as a mistyped one: nothing on the way may keep the response. */
  readonly secret: boolean;
}

interface CallersDeps {
  readonly plugin: PluginHandle;
  readonly sessions: Sessions;
}

/** Who asks for a feed: whoever the bearer token says, else whoever the URL names, else the session's member. */
export class Callers {
  readonly #deps: CallersDeps;

  constructor(deps: CallersDeps) {
    this.#deps = deps;
  }

  /** A bearer token wins over the cookie, so the session behind the cookie is not even read. */
  readonly middleware: RequestHandler = (req, res, next) =>
    bearerToken(req) === undefined ? this.#deps.sessions.middleware(req, res, next) : next();

  /** True for a request of a guest like all others, as far as can be told at once. */
  anonymous({ headers, url = '/' }: Pick<Request, 'headers'> & { readonly url?: string | undefined }): boolean {
    if (bearerToken({ headers }) !== undefined || this.#deps.sessions.hasCookie(headers.cookie)) return false;
    return !this.#matches(url);
  }

  /** 401 for a bad bearer token. */
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
    // Programs ask again and again: that keeps no session alive.
    const viewer = await sessions.authenticate(req, res, { idle: true });
    return { viewer, personal: !isGuest(viewer), secret };
  }

  #matches(url: string): boolean {
    return this.#deps.plugin.extensions(feedIdentities).some(({ value }) => value.matches(url));
  }
}
