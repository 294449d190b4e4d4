import type { PluginHandle } from 'parley-forum';
import { isAdmin, type Access, type Viewer } from 'parley-forum/plugins/access';
import { holdersOf, type Accounts } from 'parley-forum/plugins/accounts';
import { messageReportCreated } from 'parley-forum/plugins/message-reports';
import { handleReports } from 'parley-forum/plugins/reports';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import { messageReportHandled } from 'parley-forum/ports/moderation';
import { QUEUE } from './queue-pages.ts';
import type { ReportReader } from './report-reader.ts';

interface NotificationDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'search' | 'viewers'>;
  readonly notifications: Notifications;
  readonly reader: Pick<ReportReader, 'concerned'>;
}
const [REPORTED, HANDLED] = ['message_report', 'message_report_handled'] as const;

/**
 * Notifies the members who handle reports, with one notification while it is unread, and reporters when their report
 * was handled. Never includes any text of the message or its author.
 */
export function notifyPeople(
  plugin: PluginHandle,
  { access, accounts, notifications, reader }: NotificationDeps,
): void {
  plugin.extend(notificationTypes, {
    type: REPORTED,
    name: 'message-reports:kind',
    label: 'message-reports:tell',
    sentence: 'message-reports:says',
    untitled: 'message-reports:untitled',
    mailed: false,
    visible: (viewer: Viewer) => access.allows(viewer, handleReports),
  });
  plugin.extend(notificationTypes, {
    type: HANDLED,
    name: 'message-reports:kind',
    label: 'message-reports:tell.handled',
    sentence: 'message-reports:says.handled',
    untitled: 'message-reports:untitled.handled',
    mailed: false,
  });

  plugin.on(
    messageReportCreated,
    async ({ report: { id } }) => {
      const concerned = await reader.concerned(id);
      if (!concerned) return;
      const isNotified = (viewer: Viewer): boolean =>
        viewer.id !== concerned.reporter_id && (viewer.id !== concerned.author_id || isAdmin(viewer));
      const key = `message-report:${id}`;
      for await (const viewers of holdersOf(handleReports, { access, accounts }))
        await notifications.notify(
          viewers
            .filter(isNotified)
            .map((viewer) => ({ type: REPORTED, userId: viewer.id!, url: QUEUE, group: 'message-reports', key })),
        );
    },
    { durable: true },
  );

  plugin.on(
    messageReportHandled,
    async ({ report: { id, reporter_id: userId } }) => {
      const key = `message-report:${id}`;
      if (userId !== null) await notifications.notify([{ type: HANDLED, userId, url: '/messages', group: key, key }]);
    },
    { durable: true },
  );
}
