import { HttpError, type PluginHandle, type Request, type RequestHandler, type Response } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { bearerToken } from 'parley-forum/plugins/api';
import { feedIdentities, type FeedReader } from 'parley-forum/plugins/feeds';

export interface Caller extends FeedReader {
  /** The answer is for nobody else, even where it says what everybody may read. */
  readonly personal: boolean;
}

interface CallersDeps {
  readonly plugin: PluginHandle;
  readonly sessions: Sessions;
}

/** Who asks for a feed: whoever the bearer token says, else whoever the address names, else the session's member. */
export class Callers {
  readonly #parts: CallersDeps;

  constructor(parts: CallersDeps) {
    this.#parts = parts;
  }

  /** A bearer token wins over the cookie, so the session behind the cookie is not even read. */
  readonly middleware: RequestHandler = (req, res, next) =>
    bearerToken(req) === undefined ? this.#parts.sessions.middleware(req, res, next) : next();

  /** True for a request of a guest like all others, as far as can be told at once. */
  anonymous({ headers, url = '/' }: Pick<Request, 'headers'> & { readonly url?: string | undefined }): boolean {
    if (bearerToken({ headers }) !== undefined || this.#parts.sessions.hasCookie(headers.cookie)) return false;
    return !this.#named(url);
  }

  /** 401 for a bad bearer token. */
  async identify(req: Request, res: Response): Promise<Caller> {
    const { plugin, sessions } = this.#parts;
    const token = bearerToken(req);
    if (token !== undefined) {
      const viewer = token === '' ? undefined : await sessions.authenticateBearer(token);
      if (viewer) return { viewer, personal: true };
      throw new HttpError(401, 'The bearer token is not valid', {
        code: 'invalid_token',
        headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
      });
    }
    for (const { plugin: id, value } of plugin.extensions(feedIdentities)) {
      const reader = value.named(req.originalUrl)
        ? await plugin.attempt(id, 'reader of a feed', () => value.reader(req))
        : undefined;
      if (reader) return { ...reader, personal: true };
    }
    // Programs ask again and again: that keeps no session alive.
    const viewer = await sessions.authenticate(req, res, { idle: true });
    return { viewer, personal: !isGuest(viewer) || this.#named(req.originalUrl) };
  }

  #named(url: string): boolean {
    return this.#parts.plugin.extensions(feedIdentities).some(({ value }) => value.named(url));
  }
}
