import { Clock, Data, definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import {
  memberNoted,
  moderationActed,
  moderationLogExported,
  openModeration,
  sanctionMembers,
} from 'parley-forum/plugins/moderation';
import { moderationQueues } from 'parley-forum/ports/moderation';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { Reports } from 'parley-forum/plugins/reports';
import { Web } from 'parley-forum/plugins/web';
import { syncBans } from './ban-sync.ts';
import { subscribe } from './event-subscriber.ts';
import { ModerationLog } from './moderation-log.ts';
import { postNotePages } from './pages/post-notes-page.ts';
import { postNoteRoutes } from './post-note-routes.ts';
import { PostNotes } from './post-notes.ts';
import { MemberNotes } from './member-notes.ts';
import { notifyMembers } from './notifications.ts';
import { homePages } from './pages/home-page.ts';
import { logPages } from './pages/log-page.ts';
import { memberPages } from './pages/member-page.ts';
import { standingPages } from './pages/standing-page.ts';
import { moderationData } from './personal-data.ts';
import { Sanctions } from './sanctions.ts';
import { fillSlots } from './slots.ts';

export default definePlugin({
  id: 'moderation',
  name: 'Moderation',
  version: '2.0.0',
  description: 'Moderation pages and log, suspensions, bans, and notes on members and posts.',
  defends: true,
  needs: {
    data: Data,
    clock: Clock,
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
    protection: Protection,
  },
  wants: { reports: Reports, notifications: Notifications, web: Web },
  hooks: [moderationActed, memberNoted, moderationLogExported],
  extensionPoints: [moderationQueues],
  permissions: [openModeration, sanctionMembers],
  setup({ data, clock, access, accounts, categories, discussions, protection, reports, notifications, web }, plugin) {
    const log = new ModerationLog({ plugin, data, accounts, discussions });
    const sanctions = new Sanctions({ data, clock, access, accounts, log });
    const memberNotes = new MemberNotes({ plugin, data, clock, accounts });
    const postNotes = new PostNotes({ data, clock, accounts, log });
    subscribe(plugin, { access, discussions, log });
    syncBans(plugin, { data, clock, access, accounts, log });
    plugin.extend(personalData, moderationData(data, access));
    if (notifications) notifyMembers(plugin, { access, accounts, categories, discussions, notifications });

    const deps = { plugin, access, accounts, discussions, reports, log, sanctions, memberNotes };
    homePages(deps);
    logPages({ ...deps, clock, protection });
    memberPages(deps);
    standingPages(deps);
    postNoteRoutes({ plugin, discussions, postNotes });
    postNotePages({ plugin, access, discussions, postNotes, web });
    if (web) fillSlots(plugin, { access, accounts, discussions, log, sanctions, web });
  },
});
