import type { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import type { FeedIdentity } from 'parley-forum/plugins/feeds';
import type { FeedTokens } from './tokens.ts';

interface IdentityDeps {
  readonly tokens: FeedTokens;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly sessions: Pick<Sessions, 'authenticateBearer'>;
  enabled(): boolean;
}

/**
 * The query parameter `token`: a member's API token, or one of their feed tokens. An invalid token is ignored without
 * an error.
 */
export const tokenIdentity = ({ tokens, accounts, sessions, enabled }: IdentityDeps): FeedIdentity => ({
  matches: (url) => enabled() && /[?&]token=/.test(url),
  async reader(req) {
    const { token } = req.query;
    if (typeof token !== 'string') return undefined;
    const member = await sessions.authenticateBearer(token);
    if (member) return { viewer: member };
    const owner = await tokens.find(token);
    const viewer = owner && (await accounts.viewers([owner.accountId])).get(owner.accountId);
    return viewer && { viewer, categoryIds: owner.categoryIds };
  },
});
