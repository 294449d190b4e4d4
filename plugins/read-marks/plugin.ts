import { Cache, Clock, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import { userRegistered } from 'parley-forum/plugins/accounts';
import {
  Categories,
  discussionCreated,
  discussionFields,
  Discussions,
  discussionUpdated,
  postCreated,
  postDeleted,
  postsMoved,
} from 'parley-forum/plugins/discussions';
import { personalData, repeatInBatches } from 'parley-forum/ports/personal-data';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { Web } from 'parley-forum/plugins/web';
import { readMarkFields } from './discussion-fields.ts';
import { LateDiscussions } from './late-discussions.ts';
import { addPages } from './pages.ts';
import { readMarksPersonalData } from './personal-data.ts';
import { ReadMarkService } from './read-mark-service.ts';
import { ReadStarts } from './read-starts.ts';
import { addRoutes } from './routes.ts';
import { fillSlots } from './slots.ts';

const DAY = 86_400_000;

export default definePlugin({
  id: 'read-marks',
  name: 'Read marks',
  version: '1.0.0',
  description: 'Remembers how far members have read, and shows what is unread.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { subscriptions: Subscriptions, web: Web },
  settings: Type.Object({
    'read-marks.new_days': Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3_650,
      title: 'Days during which a discussion is new',
      description: 'Afterwards a discussion a member has not opened no longer counts as unread for them.',
    }),
    'read-marks.kept_days': Type.Integer({
      default: 730,
      minimum: 30,
      maximum: 36_500,
      title: 'Days to keep read marks',
      description: 'Since the member last read in the discussion; afterwards it counts as never opened.',
    }),
  }),
  setup({ data, cache, clock, environment, settings, categories, discussions, subscriptions, web }, plugin) {
    const starts = new ReadStarts({ data, cache, clock, days: () => plugin.settings['read-marks.new_days'] });
    const marks = new ReadMarkService({ data, cache, clock, categories, discussions, subscriptions, starts });
    const late = new LateDiscussions({ data, cache, clock, categories });

    for (const field of readMarkFields(marks)) plugin.extend(discussionFields, field);
    plugin.on(userRegistered, async ({ user }) => void (await starts.of(user.id)), { awaited: true });
    // Awaited, so that the author's next page does not show their own post as new.
    plugin.on(discussionCreated, ({ discussion }) => marks.wrote(discussion.author.id, discussion.id, 1), {
      awaited: true,
    });
    plugin.on(
      postCreated,
      ({ post: { author, discussion_id: discussionId, number }, was_held: held }) =>
        held ? marks.published(author.id, discussionId, number) : marks.wrote(author.id, discussionId, number),
      { awaited: true },
    );
    plugin.on(
      postsMoved,
      async ({ source, discussion, posts }) => {
        await marks.moved(source.id, discussion.id, posts);
        await late.joined(source.id, discussion.id);
        await late.shortened(source.id);
      },
      { awaited: true },
    );
    plugin.on(postDeleted, ({ post }) => late.shortened(post.discussion_id), { awaited: true });
    plugin.on(
      discussionUpdated,
      async ({ discussion: { id }, was_deleted: deleted, from_category_id: from }) => {
        if (deleted) await late.restored(id);
        if (from !== undefined) await late.left(from, id);
      },
      { awaited: true },
    );
    plugin.job('forget', {
      schema: Type.Object({}),
      cron: '17 4 * * 0',
      run: async () => {
        const before = (days: number): Date => new Date(clock.now() - days * DAY);
        const { 'read-marks.kept_days': kept, 'read-marks.new_days': young } = plugin.settings;
        await marks.forget(before(kept), plugin.signal);
        await repeatInBatches(plugin.signal, (limit) => late.forget(before(young), limit));
      },
    });
    plugin.extend(personalData, readMarksPersonalData(data));
    addRoutes({ plugin, settings, clock, discussions, marks, web });
    if (!web) return;
    addPages({ plugin, environment, discussions, marks, subscriptions });
    fillSlots({ plugin, marks, web });
  },
});
