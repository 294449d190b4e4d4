import { Clock, Data, definePlugin, Environment, Http, Jobs, Plugins, Settings } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import {
  Admin,
  administer,
  adminSections,
  adminTiles,
  configure,
  memberColumns,
  pluginReleased,
  pluginStayed,
  pluginSwitched,
  settingsChanged,
  settingsSaving,
  workRetried,
} from 'parley-forum/plugins/admin';
import { Mail } from 'parley-forum/ports/mail';
import { navigation, Web } from 'parley-forum/plugins/web';
import { addAuditRules } from './audit-rules.ts';
import { addDashboard } from './dashboard.ts';
import { addJobs } from './jobs.ts';
import { addMembers } from './members.ts';
import { Panel } from './panel.ts';
import { addPlugins } from './plugins.ts';
import { addSettings } from './settings.ts';
import { SecurityWarnings, warnOfPromotions } from './security-warnings.ts';

export default definePlugin({
  id: 'admin',
  name: 'Admin panel',
  version: '1.0.0',
  description: 'The admin panel: settings, plugins, members and background jobs.',
  needs: {
    access: Access,
    accounts: Accounts,
    web: Web,
    settings: Settings,
    plugins: Plugins,
    jobs: Jobs,
    data: Data,
    environment: Environment,
    clock: Clock,
    http: Http,
  },
  wants: { mail: Mail },
  provides: { admin: Admin },
  hooks: [settingsSaving, settingsChanged, pluginSwitched, pluginStayed, pluginReleased, workRetried],
  permissions: [administer, configure],
  extensionPoints: [adminSections, adminTiles, memberColumns],

  setup({ access, accounts, web, settings, plugins, jobs, data, environment, clock, http, mail }, plugin) {
    const warnings = new SecurityWarnings({ access, accounts, clock, environment, http, web, mail });
    warnOfPromotions(plugin, warnings, { access, accounts });
    const panel = new Panel(() => plugin.extensions(adminSections));
    const parts = { plugin, panel };
    plugin.extend(
      navigation,
      {
        area: 'account',
        label: 'admin:panel',
        href: '/admin',
        icon: 'settings',
        visible: (viewer) => access.allows(viewer, administer),
      },
      50,
    );
    addDashboard(parts, { plugins, jobs, data, environment, web });
    addMembers(parts, { data, accounts, access, http, web });
    addSettings(parts, { data, settings, plugins, web, environment, warnings });
    addPlugins(parts, { plugins, web, warnings });
    addJobs(parts, { data, jobs });
    addAuditRules(plugin);
    return { admin: panel };
  },
});
