import { Data, definePlugin, Environment, Jobs, Plugins, Settings } from '#core';
import { Access } from '#plugins/access';
import { Accounts } from '#plugins/accounts';
import {
  Admin, administer, adminSections, adminTiles, pluginReleased, pluginStayed, pluginSwitched, settingsChanged, workRetried,
} from '#plugins/admin';
import { navigation, Web } from '#plugins/web';
import { addAuditRules } from './audit-rules.ts';
import { addDashboard } from './dashboard.ts';
import { addJobs } from './jobs.ts';
import { addMembers } from './members.ts';
import { Panel } from './panel.ts';
import { addPlugins } from './plugins.ts';
import { addSettings } from './settings.ts';

export default definePlugin({
  id: 'admin',
  name: 'Admin panel',
  version: '1.0.0',
  description: 'Settings, plugins, members and background work, for administrators.',
  needs: { access: Access, accounts: Accounts, web: Web, settings: Settings, plugins: Plugins, jobs: Jobs, data: Data, environment: Environment },
  provides: { admin: Admin },
  hooks: [settingsChanged, pluginSwitched, pluginStayed, pluginReleased, workRetried],
  permissions: [administer],
  extensionPoints: [adminSections, adminTiles],

  setup({ access, accounts, web, settings, plugins, jobs, data, environment }, plugin) {
    const panel = new Panel(() => plugin.extensions(adminSections));
    const parts = { plugin, panel };
    plugin.extend(navigation, {
      area: 'account', label: 'admin:panel', href: '/admin', icon: 'settings', visible: (viewer) => access.allows(viewer, administer),
    }, 50);
    addDashboard(parts, { plugins, jobs, data, environment });
    addMembers(parts, { accounts, access });
    addSettings(parts, { data, settings, plugins, web });
    addPlugins(parts, { plugins });
    addJobs(parts, { data, jobs });
    addAuditRules(plugin);
    return { admin: panel };
  },
});
