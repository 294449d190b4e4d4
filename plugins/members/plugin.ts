import { Clock, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions } from 'parley-forum/plugins/discussions';
import { seeMembers } from 'parley-forum/plugins/members';
import { Web } from 'parley-forum/plugins/web';
import { addCards } from './cards.ts';
import { MemberDirectory } from './directory.ts';
import { addPages } from './pages.ts';
import { addRoutes } from './routes.ts';

const DAY = 86_400_000;

export default definePlugin({
  id: 'members',
  name: 'Members',
  version: '1.0.0',
  description: 'The member directory, and a card for each member.',
  needs: { clock: Clock, settings: Settings, access: Access, accounts: Accounts, discussions: Discussions },
  wants: { web: Web },
  permissions: [seeMembers],
  settings: Type.Object({
    'members.new_days': Type.Integer({
      default: 14,
      minimum: 0,
      maximum: 365,
      title: 'Days during which members are new',
      description: 'After sign-up; their cards say so. 0: never.',
    }),
  }),
  setup({ clock, settings, access, accounts, discussions, web }, plugin) {
    const directory = new MemberDirectory({ accounts, discussions });
    addRoutes({ plugin, settings, accounts, directory });
    if (!web) return;
    addPages({ plugin, access, directory });
    addCards({ plugin, accounts, clock, web, newFor: () => plugin.settings['members.new_days'] * DAY });
  },
});
