import { Cache, Clock, Data, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { Discussions, postProjections } from 'parley-forum/plugins/discussions';
import { eventRules } from 'parley-forum/ports/events';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { reportHandled } from 'parley-forum/ports/moderation';
import { handleReports, report, reportCreated, Reports, reportWorkedOn } from 'parley-forum/plugins/reports';
import { Web } from 'parley-forum/plugins/web';
import { Claims } from './claims.ts';
import { followPosts, movedReports } from './moved-reports.ts';
import { reportPages } from './report-pages.ts';
import { reportsData } from './personal-data.ts';
import { openTag, queuePages } from './queue-pages.ts';
import { ReportReader } from './report-reader.ts';
import { ReportWriter } from './report-writer.ts';
import { reportRoutes } from './routes.ts';
import { reportEventRule } from './event-rule.ts';
import { notifyHandlers } from './notifications.ts';

export default definePlugin({
  id: 'reports',
  name: 'Reports',
  version: '2.0.0',
  description: 'Members report posts, and moderators handle the reports.',
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
      description: 'Per member; moderators may make five times as many.',
      'x-group': 'limits',
    }),
  }),
  async setup(
    { data, cache, clock, settings, access, accounts, discussions, limits, markdown, notifications, web },
    plugin,
  ) {
    const reader = new ReportReader({ data, accounts, discussions });
    const writer = new ReportWriter({ data, clock, limits, discussions, plugin });
    const claims = new Claims({ plugin, data, clock, accounts });
    const deps = { plugin, cache, settings, reader, writer, claims, access, discussions, markdown, web };
    reportRoutes(deps);
    reportPages(deps);
    queuePages(deps);
    plugin.extend(postProjections, movedReports(data));
    await followPosts(data, { access, discussions });
    plugin.on(reportCreated, () => cache.purge(openTag), { awaited: true });
    plugin.on(reportHandled, () => cache.purge(openTag), { awaited: true });
    if (notifications) notifyHandlers(plugin, { access, accounts, notifications, reader });
    plugin.extend(eventRules, reportEventRule(reader, access));
    plugin.extend(personalData, reportsData(data));
    plugin.extend(
      auditRules,
      audited(reportWorkedOn, ['report.claimed', 'report.released', 'report.noted'], ({ report: id, by, what }) => ({
        action: `report.${what}`,
        actor: by,
        subject: { type: 'report', id },
      })),
    );
    return { reports: reader };
  },
});
