import { Cache, Clock, Data, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { audited, auditRules } from 'parley-forum/plugins/audit';
import { Discussions } from 'parley-forum/plugins/discussions';
import { eventRules } from 'parley-forum/plugins/events';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Notifications } from 'parley-forum/plugins/notifications';
import { personalData } from 'parley-forum/plugins/privacy';
import {
  handleReports,
  report,
  reportCreated,
  reportHandled,
  Reports,
  reportWorkedOn,
} from 'parley-forum/plugins/reports';
import { Web } from 'parley-forum/plugins/web';
import { Claims } from './claims.ts';
import { reportPages } from './pages.ts';
import { reportsData } from './personal-data.ts';
import { openTag, queuePages } from './queue.ts';
import { Reading } from './reading.ts';
import { Reporting } from './reporting.ts';
import { reportRoutes } from './routes.ts';
import { ruleOf } from './event-rule.ts';
import { tellHandlers } from './telling.ts';

export default definePlugin({
  id: 'reports',
  name: 'Reports',
  version: '1.0.0',
  description: 'Members report posts, moderators deal with them.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    discussions: Discussions,
    limits: Limits,
    markdown: Markdown,
  },
  wants: { notifications: Notifications, web: Web },
  provides: { reports: Reports },
  hooks: [reportCreated, reportHandled, reportWorkedOn],
  permissions: [report, handleReports],
  settings: Type.Object({
    'reports.rate_limit': Type.Integer({
      default: 20,
      minimum: 1,
      title: 'Reports in an hour',
      description: 'How many one member may make; moderators five times as many.',
      'x-group': 'limits',
    }),
  }),
  setup({ data, cache, clock, settings, access, accounts, discussions, limits, markdown, notifications, web }, plugin) {
    const reading = new Reading({ data, accounts, discussions });
    const reporting = new Reporting({ data, clock, limits, discussions, plugin });
    const claims = new Claims({ plugin, data, clock, accounts });
    const services = { plugin, cache, settings, reading, reporting, claims, access, discussions, markdown, web };
    reportRoutes(services);
    reportPages(services);
    queuePages(services);
    plugin.on(reportCreated, () => cache.purge(openTag), { awaited: true });
    plugin.on(reportHandled, () => cache.purge(openTag), { awaited: true });
    if (notifications) tellHandlers(plugin, { access, accounts, notifications, reading });
    plugin.extend(eventRules, ruleOf(reading, access));
    plugin.extend(personalData, reportsData(data));
    plugin.extend(
      auditRules,
      audited(reportWorkedOn, ['report.claimed', 'report.released', 'report.noted'], ({ report: id, by, what }) => ({
        action: `report.${what}`,
        actor: by,
        subject: { type: 'report', id },
      })),
    );
    return { reports: reading };
  },
});
