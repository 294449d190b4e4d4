import { Cache, Clock, counters, Data, definePlugin, Settings } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, profileTabs } from 'parley-forum/plugins/accounts';
import { Admin } from 'parley-forum/plugins/admin';
import { Discussions, postFields } from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { eventRules } from 'parley-forum/ports/events';
import { Live } from 'parley-forum/ports/live';
import { personalData } from 'parley-forum/ports/personal-data';
import { reactionAdded, reactionRemoved } from 'parley-forum/ports/reactions';
import { manageReactions, react, Reactions, reactionTypeSaved } from 'parley-forum/plugins/reactions';
import { Web } from 'parley-forum/plugins/web';
import { adminPages } from './admin-pages.ts';
import { reactionRules } from './event-rules.ts';
import { createSignaller } from './open-pages.ts';
import { reactionsField } from './post-field.ts';
import { reactionPages } from './pages.ts';
import { reactionsPersonalData } from './personal-data.ts';
import { reactionsTab } from './profile-tab.ts';
import { reactionCounter } from './recount.ts';
import { reactionRoutes } from './routes.ts';
import { ReactionService } from './reaction-service.ts';
import { ReactionTypes } from './reaction-types.ts';

export default definePlugin({
  id: 'reactions',
  name: 'Reactions',
  version: '2.0.0',
  description: 'Members react to posts with emoji.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    discussions: Discussions,
    markdown: Markdown,
  },
  wants: { live: Live, web: Web, admin: Admin },
  provides: { reactions: Reactions },
  hooks: [reactionAdded, reactionRemoved, reactionTypeSaved],
  permissions: [react, manageReactions],
  async setup({ data, cache, clock, settings, access, accounts, discussions, markdown, live, web, admin }, plugin) {
    const types = new ReactionTypes({ data, cache });
    await types.load();
    const reactions = new ReactionService({
      plugin,
      data,
      cache,
      clock,
      access,
      discussions,
      types,
      changed: live ? createSignaller(plugin, live) : () => undefined,
    });
    plugin.extend(postFields, reactionsField(reactions, data));
    plugin.extend(personalData, reactionsPersonalData({ data, cache }));
    plugin.extend(counters, reactionCounter({ data, cache }));
    for (const rule of reactionRules(discussions)) plugin.extend(eventRules, rule);

    const deps = { plugin, settings, accounts, discussions, reactions };
    reactionRoutes(deps);
    if (web) {
      reactionPages(deps, { access, web });
      plugin.extend(profileTabs, reactionsTab({ web, discussions, markdown, reactions }), 10);
    }
    if (admin) adminPages(deps, { admin, types });
    return { reactions };
  },
});
