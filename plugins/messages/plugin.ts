import { Cache, Clock, counters, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import { Access, isGuest, type Viewer } from 'parley-forum/plugins/access';
import { Accounts, accountTag } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { conversationsChanged, Messages, messageSent, sendMessages } from 'parley-forum/plugins/messages';
import { draftForms, Drafts } from 'parley-forum/ports/drafts';
import { Conversations } from 'parley-forum/ports/imports';
import { Live, signals } from 'parley-forum/ports/live';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { fileTexts } from 'parley-forum/ports/pictures';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { Web } from 'parley-forum/plugins/web';
import { ConversationImporter } from './conversation-importer.ts';
import { ConversationService } from './conversation-service.ts';
import { ConversationStore } from './conversation-store.ts';
import { notifyParticipants } from './notifications.ts';
import { conversationPages } from './pages/conversation-pages.ts';
import { listPages } from './pages/list-pages.ts';
import { settingsPage } from './pages/settings-page.ts';
import { fillSlots } from './pages/slots.ts';
import { messagesPersonalData } from './personal-data.ts';
import { RecipientRules } from './recipient-rules.ts';
import { lastMessageCounter } from './recount.ts';
import { MessageReader } from './message-reader.ts';
import { messageRoutes } from './message-routes.ts';
import { messageDraftForms } from './pages/draft-forms.ts';
import { messagePages } from './pages/message-pages.ts';
import { conversationRoutes } from './routes.ts';

const SIGNAL = 'messages';

export default definePlugin({
  id: 'messages',
  name: 'Private messages',
  version: '1.0.0',
  description: 'Private messages between members.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    limits: Limits,
    markdown: Markdown,
  },
  wants: { drafts: Drafts, live: Live, notifications: Notifications, subscriptions: Subscriptions, web: Web },
  provides: { messages: Messages, importer: Conversations },
  hooks: [messageSent, conversationsChanged],
  permissions: [sendMessages],
  settings: Type.Object({
    'messages.most_participants': Type.Integer({
      default: 10,
      minimum: 2,
      maximum: 100,
      title: 'Members in a conversation',
      description: 'Maximum number, including the member who starts it.',
    }),
    'messages.longest': Type.Integer({
      default: 20_000,
      minimum: 100,
      maximum: 60_000,
      title: 'Characters per message',
      description: 'Maximum length of one message.',
    }),
    'messages.rate_limit': Type.Integer({
      default: 30,
      minimum: 1,
      title: 'Private messages per ten minutes',
      description: 'Per member; moderators may write five times as many.',
      'x-group': 'limits',
    }),
    'messages.conversation_rate_limit': Type.Integer({
      default: 10,
      minimum: 1,
      title: 'Private conversations per hour',
      description: 'Per member; moderators may start five times as many.',
      'x-group': 'limits',
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
      limits,
      markdown,
      drafts,
      live,
      notifications,
      subscriptions,
      web,
    },
    plugin,
  ) {
    const store = new ConversationStore({ data, clock });
    const rules = new RecipientRules({ data, cache, accounts, subscriptions });
    const conversations = new ConversationService({
      plugin,
      data,
      accounts,
      drafts,
      limits,
      markdown,
      notifications,
      rules,
      store,
    });
    plugin.extend(signals, {
      name: SIGNAL,
      description:
        'The viewer’s number of unread conversations (`count`) changed, or a message is new (`is_new`), edited or removed: `conversation_id` and `number`. Never contains its text.',
      visible: (_change, viewer) => !isGuest(viewer),
    });
    plugin.on(
      conversationsChanged,
      async ({ userIds, message }) => {
        await cache.purge(...userIds.map(accountTag));
        if (!live) return;
        const counts = await store.unread(userIds);
        for (const id of userIds) live.send(SIGNAL, { ...message, count: counts.get(id) ?? 0 }, id);
      },
      { awaited: true },
    );
    if (notifications) notifyParticipants(plugin, { data, notifications, store });
    plugin.extend(personalData, messagesPersonalData(data, store));
    plugin.extend(fileTexts, { table: 'conversation_message', column: 'html' });
    plugin.extend(counters, lastMessageCounter({ data, cache }));

    const deps = { plugin, environment, settings, accounts, markdown, conversations, store };
    conversationRoutes(deps);
    messageRoutes(deps);
    plugin.extend(draftForms, messageDraftForms({ data, access }));
    if (web) {
      const unread = (viewer: Viewer): Promise<number> =>
        isGuest(viewer)
          ? Promise.resolve(0)
          : cache.remember(`messages.unread:${viewer.id}`, [accountTag(viewer.id!)], () =>
              conversations.unread(viewer),
            );
      const pageDeps = { ...deps, access, drafts, rules, web, unread };
      listPages(pageDeps);
      conversationPages(pageDeps);
      messagePages(pageDeps);
      settingsPage(pageDeps);
      fillSlots(pageDeps);
    }
    return {
      messages: new MessageReader(deps),
      importer: new ConversationImporter({ data, cache, markdown }),
    };
  },
});
