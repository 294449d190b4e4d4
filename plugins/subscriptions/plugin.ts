import { Cache, Clock, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import {
  Categories,
  categoryDeleted,
  discussionCreated,
  Discussions,
  postCreated,
  postsMoved,
} from 'parley-forum/plugins/discussions';
import { personalData } from 'parley-forum/ports/personal-data';
import { follow } from 'parley-forum/plugins/subscriptions';
import { LEVELS, Subscriptions, type Level } from 'parley-forum/ports/subscriptions';
import { tagDeleted, Tags } from 'parley-forum/ports/tags';
import { Web } from 'parley-forum/plugins/web';
import { addFollowPages } from './follow-pages.ts';
import { addFollowRoutes } from './follow-routes.ts';
import { FollowService } from './follow-service.ts';
import { addMutePages } from './mute-pages.ts';
import { Muting } from './muting.ts';
import { addPages } from './pages.ts';
import { subscriptionsPersonalData } from './personal-data.ts';
import { addRoutes } from './routes.ts';
import { Subjects } from './subjects.ts';
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
  description: 'Members follow discussions, categories, tags and one another, or mute them.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { web: Web, tags: Tags },
  provides: { subscriptions: Subscriptions },
  permissions: [follow],
  settings: Type.Object({
    'subscriptions.when_starting': level(
      'watching',
      'Who starts a discussion',
      'Their notification level from then on, unless they choose another.',
    ),
    'subscriptions.when_replying': level('tracking', 'Who replies', 'The same; an existing level is kept.'),
  }),
  setup({ data, cache, clock, environment, settings, access, accounts, categories, discussions, web, tags }, plugin) {
    const follows = new FollowService({ data, cache, clock });
    const subjects = new Subjects({ accounts, categories, tags });
    const muting = new Muting({ follows, tags });
    const subscriptions = new SubscriptionService({ data, cache, clock, follows, muting, tags });
    // Awaited, so that the author's next page shows it.
    plugin.on(
      discussionCreated,
      ({ discussion }) =>
        subscriptions.followOnWriting(
          discussion.id,
          [discussion.author.id],
          plugin.settings['subscriptions.when_starting'],
        ),
      { awaited: true },
    );
    plugin.on(
      postCreated,
      ({ post }) =>
        subscriptions.followOnWriting(
          post.discussion_id,
          [post.author.id],
          plugin.settings['subscriptions.when_replying'],
        ),
      { awaited: true },
    );
    plugin.on(
      postsMoved,
      async ({ source, discussion: { id, author }, posts, merged }) => {
        const { 'subscriptions.when_starting': starting, 'subscriptions.when_replying': replying } = plugin.settings;
        if (merged) await subscriptions.followMerged(source.id, id);
        if (posts[0]?.number === 1) await subscriptions.followOnWriting(id, [author.id], starting);
        await subscriptions.followOnWriting(id, [...new Set(posts.map((post) => post.author_id))], replying);
      },
      { awaited: true },
    );
    addRoutes(plugin, { settings, accounts, discussions, subscriptions });
    plugin.extend(personalData, subscriptionsPersonalData(data, follows));
    addFollowRoutes(plugin, { follows, subjects });
    plugin.on(categoryDeleted, ({ id }) => follows.forget({ kind: 'category', id }), { awaited: true });
    plugin.on(tagDeleted, ({ id, into }) => follows.replaceTag(id, into), { awaited: true });
    if (web) {
      addPages(plugin, { access, discussions, follows, subjects, subscriptions, web });
      addFollowPages(plugin, { access, environment, follows, subjects, web });
      addMutePages(plugin, { follows, subjects, muting, web });
    }
    return { subscriptions };
  },
});
