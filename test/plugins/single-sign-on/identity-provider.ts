import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import { Provider, type Configuration } from 'oidc-provider';

export const CLIENT = { id: 'the-forum', secret: 'quite-a-secret-of-the-forum' };

/** What the provider knows about a person. */
export interface Person {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly preferred_username?: string;
}

/** A real identity provider, in this process. */
export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  /** By name there, which is also the subject. */
  readonly people: Map<string, Person>;
  /** Logs in there as a person would, from the URL the forum sent them to, and resolves to the URL of their return. */
  logIn(location: string, person: string): Promise<string>;
  /** The same, but cancels the login. */
  cancel(location: string): Promise<string>;
}

/** Follows pages with the cookies of one browser. */
class Browser {
  readonly #cookies = new Map<string, string>();

  async open(url: string, form?: Readonly<Record<string, string>>): Promise<string> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    return new URL(location, url).href;
  }
}

/** `redirectUris`: those of the forum. */
export async function startIdentityProvider(redirectUris: readonly string[]): Promise<IdentityProvider> {
  const server: Server = createServer((req, res) => callback(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Person>();
  const configuration: Configuration = {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [...redirectUris],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
    cookies: { keys: ['signs the cookies of the provider'] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    renderError: (context, out) => void (context.body = JSON.stringify(out)),
  };
  // It warns that its development features are for tests only.
  const warnings = vi.spyOn(console, 'warn').mockReturnValue();
  const provider = new Provider(issuer, configuration);
  warnings.mockRestore();
  const callback = provider.callback();
  const follow = async (browser: Browser, start: string, person: string | undefined): Promise<string> => {
    let at = start;
    for (let steps = 0; steps < 10 && at.startsWith(issuer); steps++) {
      if (!at.includes('/interaction/')) at = await browser.open(at);
      else if (person === undefined) at = await browser.open(`${at}/abort`);
      else {
        const { prompt } = await provider.Interaction.find(at.split('/').at(-1)!).then((found) => found!);
        at = await browser.open(at, { prompt: prompt.name, login: person, password: 'any' });
      }
    }
    return at;
  };
  return {
    issuer,
    people,
    logIn: (location, person) => follow(new Browser(), location, person),
    cancel: (location) => follow(new Browser(), location, undefined),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
