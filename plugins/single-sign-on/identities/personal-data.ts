import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly linked_at: Date;
  readonly last_used_at: Date | null;
}

/** The accounts at providers that a member has linked. */
export const identitiesData = (data: Data): PersonalData => ({
  name: 'accounts at identity providers',
  async *entries(accountId) {
    const rows =
      await data.all(sql<Row>`select p.name as provider, p.issuer, i.subject, i.label as name, i.proven_email as email,
        i.linked_at,
        i.used_at as last_used_at
      from single_sign_on_identity i join single_sign_on_provider p on p.id = i.provider_id
      where account_id = ${accountId} order by i.linked_at, p.id`);
    yield { path: 'single-sign-on.json', content: JSON.stringify(rows, undefined, 2) };
  },
  async erase(accountId) {
    await data.all(sql`delete from single_sign_on_identity where account_id = ${accountId}`);
    await data.all(sql`delete from single_sign_on_attempt where account_id = ${accountId}`);
  },
});
