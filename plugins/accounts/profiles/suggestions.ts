import { sql, type Data } from 'parley-forum';
import { accountsTag } from 'parley-forum/plugins/accounts';
import { findAlike, type SuggestionSource } from 'parley-forum/ports/suggestions';
import { firstNamesFrom } from '../accounts/name-search.ts';

/** Suggests members whose name starts with a text, by username. */
export const memberSuggestions = (data: Data): SuggestionSource => ({
  label: 'accounts:members',
  tags: [accountsTag],
  async find(text, _viewer, limit) {
    const { matches, order } = firstNamesFrom(text.replace(/^@/, ''), limit);
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
  async alike({ word, swapped }, _viewer, limit) {
    const names = [sql`lower(username::text)`, sql`display_name_key`];
    const matches = [word, ...swapped].flatMap((one) => names.map((name) => sql`${one} <<% ${name}`));
    const rows = await findAlike(
      data,
      sql<{ name: string }>`select concat_ws(' ', username, display_name) as name from account
        where (${sql.join(matches, sql` or `)}) and status = 'active'
        order by strict_word_similarity(${word}, concat_ws(' ', lower(username::text), display_name_key)) desc, id
        limit ${limit}`,
    );
    return rows.map(({ name }) => name);
  },
});
