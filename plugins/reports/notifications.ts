import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { holdersOf, type Accounts } from 'parley-forum/plugins/accounts';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import { handleReports, reportCreated } from 'parley-forum/plugins/reports';
import type { ReportReader } from './report-reader.ts';

interface NotificationDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'search' | 'viewers'>;
  readonly notifications: Notifications;
  readonly reader: ReportReader;
}
const TYPE = 'report';

/** Notifies the members who handle reports: one notification while it is unread, however many reports are made. */
export function notifyHandlers(
  plugin: PluginHandle,
  { access, accounts, notifications, reader }: NotificationDeps,
): void {
  plugin.extend(notificationTypes, {
    type: TYPE,
    name: 'reports:kind',
    label: 'reports:tell',
    sentence: 'reports:says',
    untitled: 'reports:untitled',
    mailed: false,
    visible: (viewer: Viewer) => access.allows(viewer, handleReports),
  });

  plugin.on(
    reportCreated,
    async ({ report: { id } }) => {
      const key = `report:${id}`;
      const reporter = await reader.reporterOf(id);
      for await (const viewers of holdersOf(handleReports, { access, accounts })) {
        const recipients: string[] = [];
        for (const viewer of viewers)
          if (viewer.id !== reporter && (await reader.find(id, viewer))) recipients.push(viewer.id!);
        // Without a discussion's title, since later reports may be about other discussions.
        await notifications.notify(
          recipients.map((userId) => ({
            type: TYPE,
            userId,
            url: '/mod/reports',
            group: 'reports',
            key,
          })),
        );
      }
    },
    { durable: true },
  );
}
