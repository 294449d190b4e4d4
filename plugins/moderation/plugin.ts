import { Clock, Data, definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { acted, memberNoted, openModeration, restrainMembers } from 'parley-forum/plugins/moderation';
import { Notifications } from 'parley-forum/plugins/notifications';
import { personalData } from 'parley-forum/plugins/privacy';
import { Reports } from 'parley-forum/plugins/reports';
import { Web } from 'parley-forum/plugins/web';
import { noteBansElsewhere } from './bans-elsewhere.ts';
import { collect } from './collecting.ts';
import { Log } from './log.ts';
import { StaffNotes } from './notes.ts';
import { tellMembers } from './notices.ts';
import { homePages } from './pages/home.ts';
import { logPages } from './pages/log.ts';
import { memberPages } from './pages/member.ts';
import { standingPages } from './pages/standing.ts';
import { moderationData } from './personal-data.ts';
import { Restraints } from './restraints.ts';
import { fillSlots } from './slots.ts';

export default definePlugin({
  id: 'moderation',
  name: 'Moderation',
  version: '1.0.0',
  description: 'The moderators’ pages and log, suspensions and bans, and notes on members.',
  defends: true,
  needs: {
    data: Data,
    clock: Clock,
    access: Access,
    accounts: Accounts,
    categories: Categories,
    discussions: Discussions,
  },
  wants: { reports: Reports, notifications: Notifications, web: Web },
  hooks: [acted, memberNoted],
  permissions: [openModeration, restrainMembers],
  setup({ data, clock, access, accounts, categories, discussions, reports, notifications, web }, plugin) {
    const log = new Log({ plugin, data, accounts, discussions });
    const restraints = new Restraints({ data, clock, access, accounts, log });
    const notes = new StaffNotes({ plugin, data, clock, accounts });
    collect(plugin, { access, discussions, log });
    noteBansElsewhere(plugin, { data, clock, access, accounts, log });
    plugin.extend(personalData, moderationData(data, access));
    if (notifications) tellMembers(plugin, { access, accounts, categories, discussions, notifications });

    const services = { plugin, access, accounts, discussions, reports, log, restraints, notes };
    homePages(services);
    logPages(services);
    memberPages(services);
    standingPages(services);
    if (web) fillSlots(plugin, { access, accounts, web });
  },
});
