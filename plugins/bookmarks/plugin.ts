import { Cache, Clock, Data, definePlugin, Environment, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions, postFields } from 'parley-forum/plugins/discussions';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Web } from 'parley-forum/plugins/web';
import { BookmarkService } from './bookmark-service.ts';
import { BookmarkStore } from './bookmark-store.ts';
import { bookmarkPages } from './pages.ts';
import { bookmarksPersonalData } from './personal-data.ts';
import { bookmarkField } from './post-field.ts';
import { postMarks } from './post-marks.ts';
import { Reminders } from './reminders.ts';
import { bookmarkRoutes } from './routes.ts';

export default definePlugin({
  id: 'bookmarks',
  name: 'Bookmarks',
  version: '1.0.0',
  description: 'Members bookmark posts, with a note and a reminder.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    environment: Environment,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    discussions: Discussions,
    limits: Limits,
    markdown: Markdown,
  },
  wants: { notifications: Notifications, web: Web },
  settings: Type.Object({
    'bookmarks.rate_limit': Type.Integer({
      default: 200,
      minimum: 1,
      title: 'Bookmark changes per ten minutes',
      description: 'Per member; moderators may make five times as many.',
      'x-group': 'limits',
    }),
    'bookmarks.most': Type.Integer({
      default: 2_000,
      minimum: 1,
      maximum: 20_000,
      title: 'Bookmarks of a member',
      description: 'Per member, including those of posts they cannot currently see.',
    }),
  }),
  setup(
    { data, cache, clock, environment, settings, access, accounts, discussions, limits, markdown, notifications, web },
    plugin,
  ) {
    const store = new BookmarkStore({ data, clock });
    const reminders = new Reminders(plugin, { data, clock, access, accounts, discussions, notifications, store });
    const most = () => plugin.settings['bookmarks.most'];
    const bookmarks = new BookmarkService({ data, cache, clock, discussions, store, reminders, most });
    plugin.extend(postFields, bookmarkField({ data, clock, store }));
    plugin.extend(personalData, bookmarksPersonalData(data));

    const deps = { plugin, environment, settings, discussions, markdown, bookmarks };
    bookmarkRoutes(deps);
    if (!web) return;
    const pageDeps = { ...deps, clock, limits, web };
    postMarks(pageDeps);
    bookmarkPages({ ...pageDeps, reminds: notifications !== undefined });
  },
});
