import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { AccountSessions } from './sessions/account-sessions.ts';
import type { AccountsService } from './accounts/service.ts';

interface Row {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly display_name: string | null;
  readonly group: string;
  readonly bio: string;
  readonly avatar: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly joined_at: Date;
  readonly last_seen_at: Date | null;
  readonly last_login_at: Date | null;
  readonly registration_ip: string | null;
  readonly last_ip: string | null;
  readonly has_api_token: boolean;
  readonly api_token_used_at: Date | null;
}

interface AccountDataDeps {
  readonly data: Data;
  readonly accounts: AccountsService;
  readonly accountSessions: AccountSessions;
}

const pretty = (value: object): string => JSON.stringify(value, undefined, 2);
const timeOf = (at: number): string => new Date(at).toISOString();

/** The account itself, and its sessions. The erasure anonymises the account's row; the sessions are deleted here. */
export const accountData = ({ data, accounts, accountSessions }: AccountDataDeps): PersonalData => ({
  name: 'account',
  async *entries(accountId) {
    const row = await data.one(sql<Row>`select id, username::text as username, email::text as email, display_name,
        group_id as "group", bio, avatar_url as avatar, language, timezone, joined_at,
      last_seen_at, last_login_at, registration_ip, last_ip, api_token is not null as has_api_token, api_token_used_at
        from account where id = ${accountId}`);
    const account = await accounts.find(accountId);
    if (!row || !account) return;
    yield { path: 'account.json', content: pretty(row) };
    const sessions = (await accountSessions.list(account, undefined)).map(({ device, address, startedAt, seenAt }) => ({
      device,
      address,
      started_at: timeOf(startedAt),
      last_seen_at: timeOf(seenAt),
    }));
    yield { path: 'sessions.json', content: pretty(sessions) };
  },
  async erase(accountId) {
    await data.all(sql`delete from accounts_waiting where account_id = ${accountId}`);
    await accountSessions.end(accountId, () => true);
  },
});
