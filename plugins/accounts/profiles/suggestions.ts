import { sql, type Data } from 'parley-forum';
import { accountsTag } from 'parley-forum/plugins/accounts';
import type { SuggestionSource } from 'parley-forum/ports/suggestions';
import { usernamesFrom } from '../accounts/username-search.ts';

/** Members whose name begins with a text, by name. */
export const memberSuggestions = (data: Data): SuggestionSource => ({
  label: 'accounts:members',
  tags: [accountsTag],
  async find(text, _viewer, limit) {
    const { matches, order } = usernamesFrom(text.replace(/^@/, ''));
    const rows = await data.all(sql<{ username: string }>`select username::text as username from account
      where ${matches} and status = 'active' order by ${order} limit ${limit}`);
    return rows.map(({ username }) => ({ label: username, path: `/u/${encodeURIComponent(username)}` }));
  },
});
