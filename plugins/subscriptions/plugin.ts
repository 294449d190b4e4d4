import { Cache, Clock, Data, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { discussionCreated, Discussions, postCreated } from 'parley-forum/plugins/discussions';
import { personalData } from 'parley-forum/ports/personal-data';
import { follow } from 'parley-forum/plugins/subscriptions';
import { LEVELS, Subscriptions, type Level } from 'parley-forum/ports/subscriptions';
import { Web } from 'parley-forum/plugins/web';
import { addPages } from './pages.ts';
import { subscriptionsPersonalData } from './personal-data.ts';
import { addRoutes } from './routes.ts';
import { SubscriptionService } from './subscription-service.ts';

const level = (value: Level, title: string, description: string) =>
  Type.Enum(
    LEVELS.filter((one) => one !== 'muted'),
    { default: value, title, description },
  );

export default definePlugin({
  id: 'subscriptions',
  name: 'Subscriptions',
  version: '2.0.0',
  description: 'Members follow discussions, and mute them.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    discussions: Discussions,
  },
  wants: { web: Web },
  provides: { subscriptions: Subscriptions },
  permissions: [follow],
  settings: Type.Object({
    'subscriptions.when_starting': level(
      'watching',
      'Who starts a discussion',
      'How closely they follow it from then on, until they choose for themselves.',
    ),
    'subscriptions.when_replying': level('tracking', 'Who replies', 'The same; a level that is there already stays.'),
  }),
  setup({ data, cache, clock, settings, access, accounts, discussions, web }, plugin) {
    const subscriptions = new SubscriptionService({ data, cache, clock });
    // Awaited, so that the writer's next page shows it.
    plugin.on(
      discussionCreated,
      ({ discussion }) =>
        subscriptions.followOnWriting(
          discussion.id,
          discussion.author.id,
          plugin.settings['subscriptions.when_starting'],
        ),
      { awaited: true },
    );
    plugin.on(
      postCreated,
      ({ post }) =>
        subscriptions.followOnWriting(
          post.discussion_id,
          post.author.id,
          plugin.settings['subscriptions.when_replying'],
        ),
      { awaited: true },
    );
    addRoutes(plugin, { settings, accounts, discussions, subscriptions });
    plugin.extend(personalData, subscriptionsPersonalData(data));
    if (web) addPages(plugin, { access, discussions, subscriptions, web });
    return { subscriptions };
  },
});
