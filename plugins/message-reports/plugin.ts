import { Cache, Clock, Data, definePlugin, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Markdown } from 'parley-forum/plugins/markdown';
import { messageReportCreated } from 'parley-forum/plugins/message-reports';
import { Messages } from 'parley-forum/plugins/messages';
import { Reports } from 'parley-forum/plugins/reports';
import { Web } from 'parley-forum/plugins/web';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData, repeatInBatches } from 'parley-forum/ports/personal-data';
import { fileTexts } from 'parley-forum/ports/pictures';
import { messageReportHandled } from 'parley-forum/ports/moderation';
import { notifyPeople } from './notifications.ts';
import { messageReportsData } from './personal-data.ts';
import { openTag, queuePages } from './queue-pages.ts';
import { reportPage } from './report-page.ts';
import { ReportReader } from './report-reader.ts';
import { ReportWriter } from './report-writer.ts';
import { messageReportRoutes } from './routes.ts';

export default definePlugin({
  id: 'message-reports',
  name: 'Reports of private messages',
  version: '1.0.0',
  description: 'Members report private messages; moderators see only the reported message.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    settings: Settings,
    access: Access,
    accounts: Accounts,
    limits: Limits,
    markdown: Markdown,
    messages: Messages,
    // Reasons, permissions and pages are shared with the reports of posts.
    reports: Reports,
  },
  wants: { notifications: Notifications, web: Web },
  hooks: [messageReportCreated, messageReportHandled],
  settings: Type.Object({
    'message-reports.rate_limit': Type.Integer({
      default: 20,
      minimum: 1,
      title: 'Reports of private messages per hour',
      description: 'Per member; moderators may make five times as many.',
      'x-group': 'limits',
    }),
    'message-reports.days': Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3_650,
      title: 'Days to keep handled reports of messages',
      description:
        'Afterwards the report and its copy of the message are deleted. Open reports are kept until they are handled.',
    }),
  }),
  setup({ data, cache, clock, settings, access, accounts, limits, markdown, messages, notifications, web }, plugin) {
    const reader = new ReportReader({ data, accounts, markdown });
    const writer = new ReportWriter({ plugin, data, clock, limits, markdown, messages });
    const deps = { plugin, settings, reader, writer };
    messageReportRoutes(deps);
    if (web) {
      reportPage({ ...deps, access, web });
      queuePages({ ...deps, cache, access, markdown });
    }
    plugin.on(messageReportCreated, () => cache.purge(openTag), { awaited: true });
    plugin.on(messageReportHandled, () => cache.purge(openTag), { awaited: true });
    if (notifications) notifyPeople(plugin, { access, accounts, notifications, reader });
    plugin.extend(personalData, messageReportsData(data));
    plugin.extend(fileTexts, { table: 'message_report', column: 'html' });
    plugin.job('forget', {
      schema: Type.Object({}),
      cron: '37 3 * * *',
      run: () => repeatInBatches(plugin.signal, (limit) => writer.removeOld(limit)),
    });
  },
});
