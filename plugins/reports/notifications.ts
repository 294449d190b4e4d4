import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import { handleReports, reportCreated } from 'parley-forum/plugins/reports';
import type { ReportReader } from './report-reader.ts';

interface NotificationDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'search' | 'viewers'>;
  readonly notifications: Notifications;
  readonly reader: ReportReader;
}
/** Accounts in one query. */
const BATCH_SIZE = 100;
const TYPE = 'report';

/** Notifies those who handle reports: one notification while it is unread, however many reports come. */
export function notifyHandlers(
  plugin: PluginHandle,
  { access, accounts, notifications, reader }: NotificationDeps,
): void {
  const handles = (viewer: Viewer): boolean => access.allows(viewer, handleReports);
  plugin.extend(notificationTypes, {
    type: TYPE,
    label: 'reports:tell',
    sentence: 'reports:says',
    untitled: 'reports:untitled',
    mailed: false,
    visible: handles,
  });

  /** In parts, of those groups alone that may. */
  async function* handlers(): AsyncGenerator<readonly Viewer[]> {
    await access.refresh();
    const groups = access.groups().filter((group) => handles({ id: undefined, username: undefined, group }));
    for (const { id: groupId } of groups) {
      for (let offset = 0, total = 1; offset < total; offset += BATCH_SIZE) {
        const found = await accounts.search({ text: '', groupId, limit: BATCH_SIZE, offset });
        total = found.total;
        yield [...(await accounts.viewers(found.accounts.map(({ id }) => id))).values()].filter(handles);
      }
    }
  }

  plugin.on(
    reportCreated,
    async ({ report: { id } }) => {
      const key = `report:${id}`;
      const reporter = await reader.reporterOf(id);
      for await (const viewers of handlers()) {
        const recipients: string[] = [];
        for (const viewer of viewers)
          if (viewer.id !== reporter && (await reader.find(id, viewer))) recipients.push(viewer.id!);
        // Without a title of a discussion: those that come later are others'.
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
