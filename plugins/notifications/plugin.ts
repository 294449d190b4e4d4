import { Cache, Clock, counters, Data, definePlugin, Environment, Secrets, Settings, Type } from 'parley-forum';
import { Access, isGuest, type Viewer } from 'parley-forum/plugins/access';
import { Accounts, accountTag } from 'parley-forum/plugins/accounts';
import { Categories, Discussions, postProjections, postUpdated } from 'parley-forum/plugins/discussions';
import { Live, signals } from 'parley-forum/ports/live';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Mail } from 'parley-forum/ports/mail';
import {
  Notifications,
  notificationsStored,
  notificationTypes,
  type NotificationType,
} from 'parley-forum/ports/notifications';
import { unreadChanged } from 'parley-forum/plugins/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { Web } from 'parley-forum/plugins/web';
import { batches } from './batches.ts';
import { missedPosts } from './projection/backfill.ts';
import { Describer } from './describer.ts';
import { NotificationEmails } from './emails/emails.ts';
import { addEmailJobs } from './emails/email-jobs.ts';
import { DiscussionProjection } from './projection/projection.ts';
import { addPages } from './pages.ts';
import { notificationsPersonalData } from './personal-data.ts';
import { PreferenceStore } from './preferences/preferences.ts';
import { NotificationReader } from './reader.ts';
import { unreadCounter } from './recount.ts';
import { addRoutes } from './routes.ts';
import { Notifier } from './notifier.ts';
import { addPreferencePages } from './preferences/pages.ts';
import { Visibility } from './visibility.ts';
import { addSources } from './sources/sources.ts';
import { untitledOf } from './sentence.ts';
import { Store } from './store.ts';

const DAY = 86_400_000;
/**
 * Days after which read notifications and keys of known notifications are deleted. Failed jobs may be retried for 30
 * days.
 */
const RETENTION_DAYS = { read: 90, known: 60 };

export default definePlugin({
  id: 'notifications',
  name: 'Notifications',
  version: '2.0.0',
  description: 'Notifies members of replies, mentions, quotes and reactions, on the site and by e-mail.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    secrets: Secrets,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
    markdown: Markdown,
  },
  wants: { subscriptions: Subscriptions, mail: Mail, live: Live, web: Web },
  provides: { notifications: Notifications },
  hooks: [unreadChanged, notificationsStored],
  extensionPoints: [notificationTypes],
  settings: Type.Object({
    'notifications.mail_delay': Type.Integer({
      default: 300,
      minimum: 0,
      maximum: 86_400,
      title: 'Seconds before a mail',
      'x-group': 'email',
      description: 'No e-mail is sent if the notification is read on the site within this time.',
    }),
    'notifications.days': Type.Integer({
      default: 365,
      minimum: 90,
      maximum: 3_650,
      title: 'Days to keep unread notifications',
      description: 'Read notifications are deleted after 90 days.',
    }),
    'notifications.most': Type.Integer({
      default: 1_000,
      minimum: 100,
      maximum: 100_000,
      title: 'Notifications per member',
      description: 'Maximum number kept; the oldest are deleted first, even if unread.',
    }),
  }),
  async setup(
    {
      data,
      cache,
      clock,
      environment,
      secrets,
      settings,
      access,
      accounts,
      categories,
      discussions,
      markdown,
      subscriptions,
      mail,
      live,
      web,
    },
    plugin,
  ) {
    const types = () => plugin.extensions(notificationTypes).map(({ value }) => value);
    const offered = (viewer: Viewer): readonly NotificationType[] =>
      plugin.extensions(notificationTypes).flatMap(({ plugin: owner, value }) => {
        const visible = (): boolean => value.visible?.(viewer) ?? true;
        return plugin.attemptSync(owner, `notification type ${value.type}`, visible) ? [value] : [];
      });
    const changed = (userIds: readonly string[]): Promise<void> => plugin.emit(unreadChanged, { userIds });
    const store = new Store({ data, clock });
    const preferences = new PreferenceStore({
      data,
      clock,
      types,
      zonesOf: async (userIds) => {
        const textsOf = await web?.textsFor(userIds);
        return (userId) => textsOf?.(userId).zone ?? 'UTC';
      },
    });
    const visibility = new Visibility({ access, accounts, categories, discussions, store });
    const projection = new DiscussionProjection({ data, clock, changed });
    const describer = new Describer({ accounts, preferences, store, visibility, web, types });
    const emails = web && mail && new NotificationEmails({ environment, secrets, web, describer });
    const reader = new NotificationReader({
      data,
      environment,
      accounts,
      store,
      visibility,
      changed,
      untitled: (type) => untitledOf(types().find((known) => known.type === type)),
      textsFor: async (userId) => (await web?.textsFor([userId]))?.(userId),
    });
    const toMail = { data, clock, accounts, preferences, visibility, store, discussions, markdown };
    const emailLater = emails && mail && addEmailJobs(plugin, { ...toMail, emails, describer, mail });
    const notifications = new Notifier({
      data,
      accounts,
      subscriptions,
      store,
      projection,
      preferences,
      describer,
      visibility,
      types,
      changed,
      stored: (stored) =>
        plugin.emit(notificationsStored, {
          notifications: stored.map(({ id, userId, added }) => ({ id, userId, merged: !added })),
        }),
      mail: emailLater ?? (() => Promise.resolve()),
    });

    plugin.extend(postProjections, projection);
    await plugin.backfill(discussions.postBackfill(missedPosts(projection)));
    // The post may have been deleted and restored.
    plugin.on(postUpdated, ({ post }) => projection.unmarkDeleted([`post:${post.id}`]), { awaited: true });
    plugin.extend(signals, {
      name: 'notifications',
      description: 'The viewer’s number of unread notifications changed: `count`.',
      visible: (_count, viewer) => !isGuest(viewer),
    });
    plugin.on(
      unreadChanged,
      async ({ userIds }) => {
        await cache.purge(...userIds.map(accountTag));
        if (!live) return;
        for (const batch of batches(userIds)) {
          const counts = await visibility.unread(batch);
          for (const id of batch) live.send('notifications', { count: counts.get(id) ?? 0 }, id);
        }
      },
      { awaited: true },
    );
    plugin.job('clean', {
      schema: Type.Object({}),
      cron: '23 4 * * *',
      run: () => {
        const ago = (days: number): Date => new Date(clock.now() - days * DAY);
        const { 'notifications.days': days, 'notifications.most': most } = plugin.settings;
        return store.cleanUp(
          { read: ago(RETENTION_DAYS.read), old: ago(days), most, known: ago(RETENTION_DAYS.known), changed },
          plugin.signal,
        );
      },
    });
    addSources(plugin, { environment, accounts, discussions, subscriptions, notifications, visibility });
    addRoutes(plugin, { settings, reader });
    addPreferencePages(plugin, { cache, preferences, emails, types, offered });
    plugin.extend(counters, unreadCounter({ data, changed }));
    plugin.extend(
      personalData,
      notificationsPersonalData({
        data,
        preferences,
        visible: async (id) => visibility.categories((await accounts.viewers([id])).get(id) ?? access.guest),
      }),
    );
    if (web) addPages(plugin, { cache, discussions, reader, web, types, offered });
    return { notifications };
  },
});
