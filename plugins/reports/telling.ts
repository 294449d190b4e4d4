import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { notificationTypes, type Notifications } from 'parley-forum/plugins/notifications';
import { handleReports, reportCreated } from 'parley-forum/plugins/reports';
import type { Reading } from './reading.ts';

interface TellingParts {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'search' | 'viewers'>;
  readonly notifications: Notifications;
  readonly reading: Reading;
}
/** Accounts in one question. */
const TOGETHER = 100;
const TYPE = 'report';

/** Tells those who handle reports that there are some: one notification while it is unread, however many come. */
export function tellHandlers(plugin: PluginHandle, { access, accounts, notifications, reading }: TellingParts): void {
  const handles = (viewer: Viewer): boolean => access.allows(viewer, handleReports);
  plugin.extend(notificationTypes, {
    type: TYPE,
    label: 'reports:tell',
    sentence: 'reports:says',
    mailed: false,
    visible: handles,
  });

  /** In parts, of those groups alone that may. */
  async function* handlers(): AsyncGenerator<readonly Viewer[]> {
    await access.refresh();
    const groups = access.groups().filter((group) => handles({ id: undefined, username: undefined, group }));
    for (const { id: groupId } of groups) {
      for (let offset = 0, total = 1; offset < total; offset += TOGETHER) {
        const found = await accounts.search({ text: '', groupId, limit: TOGETHER, offset });
        total = found.total;
        yield [...(await accounts.viewers(found.accounts.map(({ id }) => id))).values()].filter(handles);
      }
    }
  }

  plugin.on(
    reportCreated,
    async ({ report: { id } }) => {
      const key = `report:${id}`;
      const reporter = await reading.reporterOf(id);
      for await (const viewers of handlers()) {
        const told: string[] = [];
        for (const viewer of viewers)
          if (viewer.id !== reporter && (await reading.find(id, viewer))) told.push(viewer.id!);
        // Without a title of a discussion: those that come later are others'.
        await notifications.notify(
          told.map((userId) => ({ type: TYPE, userId, url: '/mod/reports', title: TITLE, group: 'reports', key })),
        );
      }
    },
    { durable: true },
  );
}

/** What the sentence is completed with. */
const TITLE = 'see what was reported';
