import { createHmac, createSecretKey } from 'node:crypto';
import { Authorizer, definePlugin, type Request } from 'parley-forum';
import { Access, type Group, type Level, type Viewer } from 'parley-forum/plugins/access';
import { Accounts, Csrf, Sessions } from 'parley-forum/plugins/accounts';

const group = (level: Level): Group => ({ id: level, name: level, level, builtIn: true });
const guest: Viewer = { id: undefined, username: undefined, group: group('guest') };
const member: Viewer = { id: 'm1', username: 'mira.k', group: group('moderator') };

const cookie = (header: string | undefined, name: string): string | undefined =>
  new RegExp(`(?:^|;\\s*)${name}=([^;]*)`).exec(header ?? '')?.[1];
const key = createSecretKey(Buffer.from('fixture'));
const seal = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');

/**
 * Stands in for access and accounts: a request with `session=mira` comes from a member, and each token is the seal of
 * the cookie.
 */
export const visitors = definePlugin({
  id: 'accounts',
  provides: { Access, Accounts, Authorizer, Csrf, Sessions },
  setup() {
    const secretOf = (header: string | undefined): string | undefined =>
      cookie(header, 'session') ? `s${cookie(header, 'session')}` : cookie(header, 'visitor');
    const token = (header: string | undefined): { token: string; setCookie: string | undefined } => {
      const known = secretOf(header);
      return known === undefined
        ? { token: seal('fresh'), setCookie: 'visitor=fresh; Path=/; HttpOnly; SameSite=Lax' }
        : { token: seal(known), setCookie: undefined };
    };
    return {
      Access: { guest, allows: (viewer: Viewer) => viewer !== guest } as unknown as Access,
      Accounts: { find: async () => undefined } as unknown as Accounts,
      Authorizer: { allows: (viewer) => viewer !== guest, identifies: (viewer) => viewer !== guest },
      Csrf: {
        token: (req, res) => {
          const own = token(req.headers.cookie);
          if (own.setCookie) res.append('Set-Cookie', own.setCookie);
          return own.token;
        },
        verifiable: () => true,
        verify: (req: Request, given?: string) =>
          (given ?? req.get('x-csrf-token')) === token(req.headers.cookie).token,
        guestToken: token,
      },
      Sessions: {
        middleware: (_req, _res, next) => next(),
        authenticate: async (req) => (cookie(req.headers.cookie, 'session') === 'mira' ? member : guest),
        ended: (req) => cookie(req.headers.cookie, 'session') === 'ended',
        reauthenticate: async () => undefined,
        authenticateBearer: async () => undefined,
        hasCookie: (header) => header?.includes('session=') ?? false,
        accountOf: () => undefined,
        sessionOf: () => undefined,
        deviceText: () => ({ text: 'accounts:device.unknown' }),
        confirmed: () => true,
        confirmedUntil: () => undefined,
        pendingLogin: async () => undefined,
        completeStep: async () => ({ success: true as const }),
        beginLogin: async () => ({ redirectTo: '/', json: { success: true as const }, complete: true }),
        asksForCode: async () => false,
        checkCode: () => Promise.resolve(),
        confirmIdentity: () => Promise.resolve(),
      },
    };
  },
});
