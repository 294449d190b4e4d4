import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { FeedTokens } from './tokens.ts';

/** Exports the names a member gave to their feed URLs; the tokens in them are not stored. */
export const feedTokensData = (data: Data, tokens: FeedTokens): PersonalData => ({
  name: 'feed tokens',
  async *entries(accountId) {
    const list = (await tokens.of(accountId)).map(({ name, created_at, last_used_at }) => ({
      name,
      created_at,
      last_used_at,
    }));
    yield { path: 'feed-tokens.json', content: JSON.stringify(list, undefined, 2) };
  },
  async erase(accountId) {
    await data.all(sql`delete from feed_token where account_id = ${accountId}`);
  },
});
