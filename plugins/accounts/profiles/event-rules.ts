import { sql, type Data } from 'parley-forum';
import { accountsTag, userRegistered } from 'parley-forum/plugins/accounts';
import type { EventRule } from 'parley-forum/plugins/events';

interface AboutUser {
  readonly user: { readonly id: string };
}

/** Profiles are open to all, so everybody may be told who signed up, by the name they have now. */
export const registrationRule = (data: Data): EventRule => ({
  hook: userRegistered,
  tags: [accountsTag],
  async visible(about) {
    const told = (about as readonly AboutUser[]).map(({ user }) => user);
    const rows = await data.all(sql<{ id: string; username: string }>`
      select id, username::text as username from account where id = any(${told.map(({ id }) => id)}::uuid[])`);
    const now = new Map(rows.map((row) => [row.id, row]));
    return told.map((user) => now.has(user.id) && { user: { ...user, ...now.get(user.id) } });
  },
});
