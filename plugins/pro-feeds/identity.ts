import type { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import type { FeedIdentity } from 'parley-forum/plugins/feeds';
import type { FeedTokens } from './tokens.ts';

interface IdentityParts {
  readonly tokens: FeedTokens;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly sessions: Pick<Sessions, 'authenticateBearer'>;
  enabled(): boolean;
}

/**
 * The parameter `token`: a member's API token, or one of their tokens for feeds. One that is not valid counts for
 * nothing, without a word.
 */
export const tokenIdentity = ({ tokens, accounts, sessions, enabled }: IdentityParts): FeedIdentity => ({
  matches: (url) => enabled() && /[?&]token=/.test(url),
  async reader(req) {
    const { token } = req.query;
    if (typeof token !== 'string') return undefined;
    const member = await sessions.authenticateBearer(token);
    if (member) return { viewer: member };
    const known = await tokens.find(token);
    const viewer = known && (await accounts.viewers([known.accountId])).get(known.accountId);
    return viewer && { viewer, categoryIds: known.categoryIds };
  },
});
