import { sql, type Data } from 'parley-forum';
import { accountsTag, userRegistered } from 'parley-forum/plugins/accounts';
import type { EventRule } from 'parley-forum/ports/events';

interface AboutUser {
  readonly user: { readonly id: string };
}

/** Profiles are public, so everyone may receive sign-ups, with the member's current name. */
export const registrationRule = (data: Data): EventRule => ({
  hook: userRegistered,
  tags: [accountsTag],
  async visible(payloads) {
    const users = (payloads as readonly AboutUser[]).map(({ user }) => user);
    const rows = await data.all(sql<{ id: string; username: string }>`
      select id, username::text as username from account where id = any(${users.map(({ id }) => id)}::uuid[])`);
    const now = new Map(rows.map((row) => [row.id, row]));
    return users.map((user) => now.has(user.id) && { user: { ...user, ...now.get(user.id) } });
  },
});
