import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Claims = Record<string, unknown>;

/** How the next responses of the provider differ from correct ones. */
export interface Lies {
  /** Changes to the discovery document. */
  readonly document?: Claims;
  /** Changes to the ID token. */
  readonly claims?: Claims;
  readonly header?: Claims;
  /** Signed with a key that is not its own. */
  readonly forged?: boolean;
  /** Replaces the response of the token endpoint. */
  readonly tokens?: (res: ServerResponse) => void;
  /** Runs before the token endpoint responds. */
  readonly meanwhile?: () => Promise<unknown>;
  /** Changes to the UserInfo response. */
  readonly userInfo?: Claims;
  /** Replaces the JWKS response. */
  readonly keys?: (res: ServerResponse) => void;
}

/** An identity provider that responds as a test requires, without any login pages. */
export interface LyingProvider extends AsyncDisposable {
  readonly issuer: string;
  lies: Lies;
  /** The number of requests to its token endpoint. */
  readonly asked: () => number;
  /** The URL to which it returns a visitor that the forum sent to `location`. */
  answer(location: string): string;
}

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2_048 });
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function startLyingProvider(clientId: string): Promise<LyingProvider> {
  const [own, other] = [newKey(), newKey()];
  const state = { lies: {} as Lies, nonce: '', subject: 'liar', asked: 0 };
  const json = (res: ServerResponse, body: object): void =>
    void res.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  const idToken = (issuer: string): string => {
    const { claims, header, forged } = state.lies;
    const now = Math.floor(Date.now() / 1_000);
    const right = { iss: issuer, sub: 'liar', aud: clientId, nonce: state.nonce, iat: now, exp: now + 300 };
    state.subject = String(claims?.['sub'] ?? right.sub);
    const signed = `${encode({ alg: 'RS256', kid: 'own', ...header })}.${encode({ ...right, ...claims })}`;
    const key: KeyObject = (forged ? other : own).privateKey;
    return `${signed}.${header?.['alg'] === 'none' ? '' : sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
  };
  const server = createServer(async (req: IncomingMessage, res: ServerResponse) => {
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    };
    const { lies } = state;
    if (req.url === '/.well-known/openid-configuration') return json(res, { ...document, ...lies.document });
    if (req.url === '/userinfo') return json(res, { sub: state.subject, ...lies.userInfo });
    if (req.url === '/jwks' && lies.keys) return lies.keys(res);
    if (req.url === '/jwks') return json(res, { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'own' }] });
    if (req.url !== '/token') return void res.writeHead(404).end();
    state.asked += 1;
    await lies.meanwhile?.();
    if (lies.tokens) return lies.tokens(res);
    return json(res, { access_token: 'any', token_type: 'Bearer', id_token: idToken(issuer) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    get lies() {
      return state.lies;
    },
    set lies(lies) {
      state.lies = lies;
    },
    asked: () => state.asked,
    answer(location) {
      const { searchParams: sent } = new URL(location);
      state.nonce = sent.get('nonce')!;
      return `${sent.get('redirect_uri')}?${new URLSearchParams({ code: 'any', state: sent.get('state')! })}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
