import { openModeration } from 'parley-forum/plugins/moderation';
import { navigation, pages, view } from 'parley-forum/plugins/web';
import { HOME, lineModel, LOG, memberPath, type PageServices } from './parts.ts';

/** Reports, members and lines that are shown of each. */
const SHOWN = 10;

/** /mod: what waits, what was done lately, and who is suspended. */
export function homePages({ plugin, access, accounts, reports, log }: PageServices): void {
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

  plugin.route(pages, { method: 'get', path: HOME, can: openModeration, options: { login: true } })(
    async ({ actor }) => {
      const suspensions = access.suspensions();
      const lasting = suspensions.slice(0, SHOWN);
      const [lately, people, open, newest] = await Promise.all([
        log.list({ limit: SHOWN }, actor),
        accounts.authors(lasting.map(({ userId }) => userId)),
        reports?.open(actor),
        reports?.list({ status: 'open', limit: SHOWN }, actor),
      ]);
      const model = {
        lines: lately.items.map(lineModel),
        log: LOG,
        total: suspensions.length,
        suspended: lasting.flatMap(({ userId, until, reason }) => {
          const member = people.get(userId);
          return member ? [{ ...member, until, reason, href: memberPath(member.username) }] : [];
        }),
        reports: reports && {
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
      return view('@moderation/home', { name: 'moderation', title: 'Moderation', noindex: true, current: HOME }, model);
    },
  );
}
