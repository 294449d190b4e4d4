import { sql, type Clock, type Data, type Request, type Response } from 'parley-forum';
import type { Subject } from '../identities/identity-store.ts';
import { keyOf, type BrowserToken } from './browser-token.ts';

/** Milliseconds within which people who came from a provider have to sign up, or log in to link the account. */
const LIFETIME = 1_800_000;
const PURPOSE = 'pending identity';

/** An account at a provider that no member has linked. */
export interface PendingIdentity extends Subject {
  readonly email: string | null;
  readonly username: string | null;
  readonly returnTo: string;
  readonly remember: boolean;
}

interface PendingIdentitiesDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly browser: BrowserToken;
}

const COLUMNS =
  sql.raw(`provider_id as "providerId", issuer, subject, label, email, proven_email as "provenEmail", username,
  return_to as "returnTo", remember`);

/** Stores accounts of people who came from a provider and still have to sign up or log in: one for each browser. */
export class PendingIdentities {
  readonly #deps: PendingIdentitiesDeps;

  constructor(deps: PendingIdentitiesDeps) {
    this.#deps = deps;
  }

  /** Replaces any earlier one of this browser. Stores nothing if the provider has been moved to another issuer. */
  async put(req: Request, res: Response, identity: PendingIdentity): Promise<void> {
    const { data, clock, browser } = this.#deps;
    const { providerId, issuer, subject, label, email, provenEmail, username, returnTo, remember } = identity;
    const key = keyOf(browser.issue(req, res), PURPOSE);
    const end = new Date(clock.now() + LIFETIME);
    await data.all(sql`insert into single_sign_on_pending (key, provider_id, subject, label, email, proven_email,
        username, return_to, remember, expires_at)
      select ${key}, id, ${subject}, ${label}, ${email}, ${provenEmail}, ${username}, ${returnTo},
        ${remember}::boolean, ${end}::timestamptz
      from single_sign_on_provider where id = ${providerId} and issuer = ${issuer} for share
      on conflict (key) do update set provider_id = excluded.provider_id, subject = excluded.subject,
        label = excluded.label, email = excluded.email, proven_email = excluded.proven_email,
        username = excluded.username, return_to = excluded.return_to, remember = excluded.remember,
        expires_at = excluded.expires_at`);
  }

  async find(req: Request): Promise<PendingIdentity | undefined> {
    const key = this.#keyOf(req);
    return key === undefined
      ? undefined
      : this.#deps.data.one(
          sql<PendingIdentity>`select ${COLUMNS}
            from single_sign_on_pending join single_sign_on_provider p on p.id = provider_id
            where key = ${key} and expires_at > ${new Date(this.#deps.clock.now())}`,
        );
  }

  async remove(req: Request): Promise<void> {
    await this.#deps.data.all(sql`delete from single_sign_on_pending where key = ${this.#keyOf(req) ?? ''}`);
  }

  async deleteExpired(): Promise<void> {
    const { data, clock } = this.#deps;
    await data.all(sql`delete from single_sign_on_pending where expires_at <= ${new Date(clock.now())}`);
  }

  #keyOf(req: Request): string | undefined {
    const token = this.#deps.browser.read(req);
    return token === undefined ? undefined : keyOf(token, PURPOSE);
  }
}
