import { Clock, Data, definePlugin, Settings, Type } from '#core';
import { Access } from '#plugins/access';
import { Accounts } from '#plugins/accounts';
import { Discussions } from '#plugins/discussions';
import { eventRules } from '#plugins/events';
import { Limits } from '#plugins/limits';
import { Markdown } from '#plugins/markdown';
import { handleReports, report, reportCreated, reportHandled } from '#plugins/reports';
import { Web } from '#plugins/web';
import { moderationPages, reportPages } from './pages.ts';
import { Reading } from './reading.ts';
import { Reporting } from './reporting.ts';
import { reportRoutes } from './routes.ts';
import { ruleOf } from './event-rule.ts';

export default definePlugin({
  id: 'reports',
  name: 'Reports',
  version: '1.0.0',
  description: 'Members report posts, moderators deal with them.',
  needs: { data: Data, clock: Clock, settings: Settings, access: Access, accounts: Accounts, discussions: Discussions, limits: Limits, markdown: Markdown },
  wants: { web: Web },
  hooks: [reportCreated, reportHandled],
  permissions: [report, handleReports],
  settings: Type.Object({
    'reports.rate_limit': Type.Integer({
      default: 20, minimum: 1, title: 'Reports in an hour', description: 'How many one member may make; moderators five times as many.', 'x-group': 'limits',
    }),
  }),
  setup({ data, clock, settings, access, accounts, discussions, limits, markdown, web }, plugin) {
    const reading = new Reading({ data, accounts, discussions });
    const reporting = new Reporting({ data, clock, limits, discussions, plugin });
    const services = { plugin, settings, reading, reporting, access, discussions, markdown, web };
    reportRoutes(services);
    reportPages(services);
    moderationPages(services);
    plugin.extend(eventRules, ruleOf(reading, access));
  },
});
