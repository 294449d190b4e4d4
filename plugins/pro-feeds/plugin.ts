import { Clock, Data, definePlugin, Environment, Type } from 'parley-forum';
import { Accounts, Sessions, tokenStores } from 'parley-forum/plugins/accounts';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { Categories } from 'parley-forum/plugins/discussions';
import { feedIdentities } from 'parley-forum/plugins/feeds';
import { personalData } from 'parley-forum/ports/personal-data';
import { feedTokenMade, feedTokenRevoked } from 'parley-forum/plugins/pro-feeds';
import { tokenIdentity } from './identity.ts';
import { addPages } from './pages.ts';
import { feedTokensData } from './personal-data.ts';
import { FeedTokens } from './tokens.ts';

export default definePlugin({
  id: 'pro-feeds',
  name: 'Members’ feeds',
  version: '1.0.0',
  description: 'Private feeds, by a token in the address.',
  needs: {
    data: Data,
    clock: Clock,
    environment: Environment,
    accounts: Accounts,
    sessions: Sessions,
    categories: Categories,
  },
  hooks: [feedTokenMade, feedTokenRevoked],
  settings: Type.Object({
    'pro.enabled': Type.Boolean({
      default: false,
      title: 'Feeds by token',
      'x-group': 'feeds',
      description:
        'Members can create feed addresses with a token that show everything they can see. Such addresses are easily shared; members can revoke theirs.',
    }),
  }),
  setup({ data, clock, environment, accounts, sessions, categories }, plugin) {
    const enabled = (): boolean => plugin.settings['pro.enabled'];
    const tokens = new FeedTokens({ data, clock, plugin });
    plugin.extend(feedIdentities, tokenIdentity({ tokens, accounts, sessions, enabled }));
    plugin.extend(tokenStores, tokens);
    plugin.extend(
      auditRules,
      audited(feedTokenMade, ['feed-token.made'], ({ actor, id }) => ({
        action: 'feed-token.made',
        actor,
        subject: { type: 'feed-token', id },
      })),
    );
    plugin.extend(
      auditRules,
      audited(feedTokenRevoked, ['feed-token.revoked'], ({ actor, id }) => ({
        action: 'feed-token.revoked',
        ...(actor !== undefined && { actor }),
        subject: { type: 'feed-token', id },
      })),
    );
    addPages(plugin, { tokens, categories, environment, enabled });
    plugin.extend(personalData, feedTokensData(data, tokens));
  },
});
