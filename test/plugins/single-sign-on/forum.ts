import { afterAll, beforeAll } from 'vitest';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { ProviderRecord } from 'parley-forum/plugins/single-sign-on';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';
import { CLIENT, startIdentityProvider, type IdentityProvider } from './identity-provider.ts';

export const PASSWORD = 'Quiet-harbour-42';
export const JSON_ONLY = { accept: 'application/json' };
export const LINKED = '/settings/security/linked-accounts';
export const ADMIN = '/admin/single-sign-on';
const BASE = 'http://forum.test';

/** One forum and one identity provider per test file. */
export function useSignOn(settings: Readonly<Record<string, unknown>> = {}): SignOnForum {
  const forum = new SignOnForum();
  beforeAll(async () => {
    forum.forum = await startForum({
      realClock: true,
      environment: { identityProviderHosts: ['127.0.0.1'], trustedProxies: ['127.0.0.1'] },
      settings: { 'single-sign-on.rate_limit': 100_000, ...settings },
    });
    forum.elsewhere = await startIdentityProvider(
      ['example', 'other', 'third'].map((slug) => `${BASE}/auth/${slug}/callback`),
    );
    await forum.create('root', 'admin');
    forum.root = forum.visitor();
    await forum.root.login('root', PASSWORD);
    forum.provider = await forum.addProvider();
  });
  afterAll(async () => {
    await forum.forum[Symbol.asyncDispose]();
    await forum.elsewhere[Symbol.asyncDispose]();
  });
  return forum;
}

export class SignOnForum {
  forum!: TestForum;
  elsewhere!: IdentityProvider;
  root!: Client;
  /** Called “Example”, with the short name `example`. */
  provider!: ProviderRecord;
  #count = 0;

  /** A client with its own IP address. */
  visitor(): Client {
    return this.forum.client({ 'x-forwarded-for': `198.51.100.${++this.#count % 250}` });
  }

  create(username: string, groupId = 'member', email = `${username}@example.org`): Promise<Account> {
    return this.forum.app.service(Accounts).create({ username, email, password: PASSWORD, groupId });
  }

  async save(body: object): Promise<Answer> {
    await this.root.login('root', PASSWORD);
    return this.root.post(`${ADMIN}/save`, body, JSON_ONLY);
  }

  async addProvider(more: object = {}): Promise<ProviderRecord> {
    const answer = await this.save({
      slug: 'example',
      name: 'Example',
      issuer: this.elsewhere.issuer,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      trusts_email: true,
      ...more,
    });
    if (answer.status !== 201) throw new Error(`not saved: ${answer.text}`);
    return answer.body.provider;
  }

  /** Submits the button; resolves to the provider’s URL. */
  async leave(client: Client, path = '/auth/example', form: object = {}): Promise<string> {
    await client.csrf();
    const answer = await client.post(path, form, JSON_ONLY);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.body.location;
  }

  /** Returns to the forum from the provider, as a browser does. */
  back(client: Client, location: string, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return client.get(location.slice(BASE.length), headers);
  }

  /** The whole flow: to the provider, logging in there as `person`, and back. */
  async signOn(client: Client, person: string, path = '/auth/example', form: object = {}): Promise<Answer> {
    return this.back(client, await this.elsewhere.logIn(await this.leave(client, path, form), person));
  }

  /** Runs `work` with the clock advanced, and then returns to the provider’s time. */
  async later<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    const { clock } = this.forum;
    clock.advance(milliseconds);
    try {
      return await work();
    } finally {
      clock.advance(-milliseconds);
    }
  }

  /** A member who has linked the account of this name at the provider, logged in. */
  async linked(username: string, person = username): Promise<{ readonly account: Account; readonly client: Client }> {
    const [account, client] = [await this.create(username), this.visitor()];
    await client.login(username, PASSWORD);
    const answer = await this.signOn(client, person, `${LINKED}/example/link`);
    if (answer.headers.get('location') !== LINKED) throw new Error(`not linked: ${answer.status} ${answer.text}`);
    return { account, client };
  }
}

export const hasSession = (client: Client): boolean => [...client.cookies.keys()].some((name) => name.includes('sid'));
/** The redirect target of a response. */
export const target = ({ headers }: Answer): string | null => headers.get('location');
