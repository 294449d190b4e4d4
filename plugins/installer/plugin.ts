import { Clock, definePlugin, Settings } from '#core';
import { Accounts } from '#plugins/accounts';
import { DemoContent, Installer } from '#plugins/installer';
import { install } from './commands.ts';
import { InstallerService } from './service.ts';

export default definePlugin({
  id: 'installer',
  name: 'Installer',
  version: '1.0.0',
  description: 'Makes a forum of an empty database, once.',
  needs: { accounts: Accounts, settings: Settings, clock: Clock },
  wants: { demo: DemoContent },
  provides: { installer: Installer },
  commands: [install],
  setup: ({ accounts, settings, clock, demo }) => ({ installer: new InstallerService({ accounts, settings, clock, demo }) }),
});
