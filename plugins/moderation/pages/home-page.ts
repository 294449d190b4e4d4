import { openModeration } from 'parley-forum/plugins/moderation';
import { handleReports } from 'parley-forum/plugins/reports';
import { navigation, pages, phrase, shortcuts, view } from 'parley-forum/plugins/web';
import { HOME, entryModel, LOG, memberPath, type PagesDeps } from './shared.ts';

/** Reports, members and lines that are shown of each. */
const MAX_SHOWN = 10;

/** /mod: open reports, recent actions, and who is suspended. */
export function homePages({ plugin, access, accounts, reports, log }: PagesDeps): void {
  plugin.extend(
    navigation,
    {
      area: 'moderation',
      label: 'moderation:title',
      href: HOME,
      icon: 'shield',
      visible: (viewer) => access.allows(viewer, openModeration),
    },
    -10,
  );

  // Queues of all plugins mark what these press, or go to.
  for (const [does, keys] of [
    ['accept', 'a'],
    ['decline', 'd'],
    ['claim', 'p'],
    ['judge', 'b'],
    ['note', 'n'],
  ] as const)
    plugin.extend(shortcuts, {
      id: `moderation.${does}`,
      keys,
      label: `moderation:keys.${does}`,
      area: 'queues',
      press: `[data-queue="${does}"]`,
      visible: (viewer) => access.allows(viewer, openModeration),
    });

  plugin.route(pages, { method: 'get', path: HOME, can: openModeration })(async ({ actor }) => {
    const suspensions = access.suspensions();
    const queue = access.allows(actor, handleReports) ? reports : undefined;
    const suspensionsShown = suspensions.slice(0, MAX_SHOWN);
    const [recent, people, open, newest] = await Promise.all([
      log.list({ limit: MAX_SHOWN }, actor),
      accounts.authors(suspensionsShown.map(({ userId }) => userId)),
      queue?.open(actor),
      queue?.list({ status: 'open', limit: MAX_SHOWN }, actor),
    ]);
    const model = {
      entries: recent.items.map(entryModel),
      log: LOG,
      total: suspensions.length,
      suspended: suspensionsShown.flatMap(({ userId, until, reason }) => {
        const member = people.get(userId);
        return member ? [{ ...member, until, reason, href: memberPath(member.username) }] : [];
      }),
      reports: queue && {
        open,
        href: '/mod/reports',
        newest: newest?.items.map(({ id, reason, reporter, created_at: at }) => ({
          reason,
          reporter,
          at,
          href: `/mod/reports/${id}`,
        })),
      },
    };
    return view(
      '@moderation/home',
      { name: 'moderation', title: phrase('moderation:title'), noindex: true, current: HOME },
      model,
    );
  });
}
