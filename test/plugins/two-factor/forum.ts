import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll } from 'vitest';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';
import { nextMail } from '../recovery/forum.ts';

export const PASSWORD = 'Quiet-harbour-42';
export const PAGE = '/settings/security/two-factor';
export const asJson = { accept: 'application/json' };
/** Milliseconds for which a code is valid. */
export const STEP = 30_000;

export const hasSession = (client: Client): boolean => [...client.cookies.keys()].some((name) => name.includes('sid'));
export const give = (client: Client, code: string): Promise<Answer> =>
  client.post('/login/two-factor', { code }, asJson);

export interface Enrolled {
  readonly account: Account;
  readonly client: Client;
  readonly secret: string;
  readonly codes: readonly string[];
}

/** One forum per test file, and its members. */
export function useMembers(): Members {
  const members = new Members();
  beforeAll(async () => void (members.forum = await startForum({ environment: { trustedProxies: ['127.0.0.1'] } })));
  afterAll(() => members.forum[Symbol.asyncDispose]());
  return members;
}

/** Members of one forum and their authenticator apps. */
export class Members {
  forum!: TestForum;
  #count = 0;

  constructor(forum?: TestForum) {
    if (forum) this.forum = forum;
  }

  /** A client with its own IP address, so that tests do not share rate limits. */
  visitor(): Client {
    return this.forum.client({ 'x-forwarded-for': `198.51.100.${++this.#count}` });
  }

  create(groupId = 'member'): Promise<Account> {
    const username = `Member-${++this.#count}`;
    return this.forum.app
      .service(Accounts)
      .create({ username, email: `${username}@example.org`, password: PASSWORD, groupId });
  }

  async loggedIn(groupId?: string): Promise<{ readonly account: Account; readonly client: Client }> {
    const [account, client] = [await this.create(groupId), this.visitor()];
    await client.login(account.username, PASSWORD);
    return { account, client };
  }

  /** A logged-in member with two-factor login on, half a minute after the first code. */
  async enrolled(): Promise<Enrolled> {
    const { account, client } = await this.loggedIn();
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    const codes = (await client.post(`${PAGE}/confirm`, { code: this.code(secret) }, asJson)).body.backup_codes;
    // This mail notifies the member; later mails are counted from here.
    await nextMail(this.forum, account.email);
    this.forum.clock.advance(STEP);
    return { account, client, secret, codes };
  }

  /** Submits the password. */
  async begin(
    { username }: Account,
    client = this.visitor(),
  ): Promise<{ readonly client: Client; readonly answer: Answer }> {
    await client.csrf();
    return { client, answer: await client.post('/login', { identifier: username, password: PASSWORD }, asJson) };
  }

  /** The code in the member's authenticator app, `steps` half minutes from now. */
  code(secret: string, steps = 0): string {
    const timestamp = this.forum.clock.now() + steps * STEP;
    return TOTP.generate({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: 30, timestamp });
  }

  wrongCode(secret: string): string {
    const near = [-2, -1, 0, 1, 2].map((steps) => this.code(secret, steps));
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code))!;
  }
}
