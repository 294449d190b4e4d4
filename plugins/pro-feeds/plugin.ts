import { Clock, Data, definePlugin, Environment, Type } from '#core';
import { Accounts, Sessions } from '#plugins/accounts';
import { Categories } from '#plugins/discussions';
import { feedIdentities } from '#plugins/feeds';
import { tokenIdentity } from './identity.ts';
import { addPages } from './pages.ts';
import { FeedTokens } from './tokens.ts';

export default definePlugin({
  id: 'pro-feeds',
  name: 'Members’ feeds',
  version: '1.0.0',
  description: 'Feeds with what their reader may see, by a token in the address.',
  needs: { data: Data, clock: Clock, environment: Environment, accounts: Accounts, sessions: Sessions, categories: Categories },
  settings: Type.Object({
    'pro.enabled': Type.Boolean({
      default: false, title: 'Feeds by token', 'x-group': 'feeds',
      description: 'Feeds show a member what they may see when the address has their token. Addresses are easily passed on: members can revoke theirs.',
    }),
  }),
  setup({ data, clock, environment, accounts, sessions, categories }, plugin) {
    const enabled = (): boolean => plugin.settings['pro.enabled'];
    const tokens = new FeedTokens({ data, clock });
    plugin.extend(feedIdentities, tokenIdentity({ tokens, accounts, sessions, enabled }));
    addPages(plugin, { tokens, categories, environment, enabled });
  },
});
