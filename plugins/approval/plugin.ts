import { Cache, Clock, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, groupChanged } from 'parley-forum/plugins/accounts';
import { reviewPosts } from 'parley-forum/plugins/approval';
import {
  Categories,
  categoryDeleted,
  Discussions,
  postHeld,
  postReviewed,
  postSent,
  postsMoved,
} from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Web } from 'parley-forum/plugins/web';
import { eventRules } from 'parley-forum/ports/events';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData, repeatInBatches } from 'parley-forum/ports/personal-data';
import { fileTexts } from 'parley-forum/ports/pictures';
import { tagDeleted } from 'parley-forum/ports/tags';
import { heldPostRule } from './event-rule.ts';
import { HeldPosts, queueTag } from './held-posts.ts';
import { Holder } from './holder.ts';
import { notifyPeople } from './notifications.ts';
import { ownPages } from './own-pages.ts';
import { approvalData } from './personal-data.ts';
import { queuePages } from './queue-pages.ts';
import { Reviewer } from './reviewer.ts';
import { approvalRoutes } from './routes.ts';
import { Rules } from './rules.ts';

export default definePlugin({
  id: 'approval',
  name: 'Approval',
  version: '1.0.0',
  description: 'Holds first posts of new members, and posts that look like spam, until a moderator approves them.',
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
    markdown: Markdown,
  },
  wants: { notifications: Notifications, web: Web },
  hooks: [postHeld, postReviewed],
  permissions: [reviewPosts],
  settings: Type.Object({
    'approval.first_posts': Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 50,
      title: 'First posts held for approval',
      description:
        'A member’s posts are held until this many have been approved. 0: posts appear at once. Posts of moderators are never held.',
    }),
    'approval.links': Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 50,
      title: 'Links that hold a post',
      description:
        'Number of links to other sites in one post, for members with fewer posts than the next setting. 0: never.',
    }),
    'approval.links_until': Type.Integer({
      default: 10,
      minimum: 1,
      maximum: 1_000,
      title: 'Posts before links are unrestricted',
      description: 'Members with this many posts may use any number of links.',
    }),
    'approval.words': Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
      default: [],
      maxItems: 500,
      title: 'Words that hold a post',
      description: 'Whole words or phrases, case-insensitive, in posts and titles of all members.',
    }),
  }),
  setup(
    {
      data,
      cache,
      clock,
      environment,
      settings,
      access,
      accounts,
      categories,
      discussions,
      markdown,
      notifications,
      web,
    },
    plugin,
  ) {
    const rules = new Rules({ access, discussions, settings: plugin.settings, baseUrl: environment.baseUrl });
    const posts = new HeldPosts({ data, cache, clock, accounts, categories, discussions, markdown });
    const holder = new Holder({ plugin, data, clock, rules });
    const reviewer = new Reviewer({ plugin, data, clock, access, accounts, discussions, posts });
    plugin.on(postSent, async (held, post) => held ?? (await holder.hold(post)));

    const routes = { plugin, settings, environment, posts, reviewer };
    approvalRoutes(routes);
    if (web) {
      const deps = { ...routes, cache, access, accounts, categories, discussions, markdown };
      queuePages(deps);
      ownPages({ ...deps, rules });
    }
    plugin.on(postHeld, () => cache.purge(queueTag), { awaited: true });
    plugin.on(postReviewed, () => cache.purge(queueTag), { awaited: true });
    if (notifications) notifyPeople(plugin, { access, accounts, notifications, posts, rules });
    plugin.extend(eventRules, heldPostRule(posts, access));
    plugin.extend(personalData, approvalData(data, posts));
    plugin.extend(fileTexts, { table: 'held_post', column: 'html' });

    plugin.on(
      groupChanged,
      async ({ id, to }) => {
        await access.refresh();
        if (access.group(to)?.level === 'banned') await posts.dismiss(id);
      },
      { durable: true },
    );
    plugin.on(categoryDeleted, ({ id, into }) => (into === undefined ? undefined : posts.move(id, into)), {
      durable: true,
    });
    plugin.on(tagDeleted, ({ id, into }) => posts.replaceTag(id, into), { durable: true });
    plugin.on(
      postsMoved,
      async ({ source, posts: [first], merged }) => {
        // It may have been merged into a third one in the meantime.
        const now = merged && first ? await discussions.findPost(first.id, access.unrestricted) : undefined;
        if (now) await posts.moveReplies(source.id, now.discussion);
      },
      { durable: true },
    );
    plugin.job('forget', {
      schema: Type.Object({}),
      cron: '41 3 * * *',
      run: () => repeatInBatches(plugin.signal, (limit) => posts.removeOld(limit)),
    });
  },
});
