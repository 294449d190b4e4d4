import { sql, type Data } from 'parley-forum';
import { accountsTag } from 'parley-forum/plugins/accounts';
import type { SuggestionSource } from 'parley-forum/ports/suggestions';
import { namesFrom } from '../accounts/name-search.ts';

/** Members whose name begins with a text, by username. */
export const memberSuggestions = (data: Data): SuggestionSource => ({
  label: 'accounts:members',
  tags: [accountsTag],
  async find(text, _viewer, limit) {
    const { matches, order } = namesFrom(text.replace(/^@/, ''));
    const rows = await data.all(sql<{
      username: string;
      name: string | null;
    }>`select username::text as username, display_name as name from account
      where ${matches} and status = 'active' order by ${order} limit ${limit}`);
    return rows.map(({ username, name }) => ({
      label: name === null ? username : `${name} (@${username})`,
      path: `/u/${encodeURIComponent(username)}`,
    }));
  },
});
