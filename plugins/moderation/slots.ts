import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { profileAbout, type Accounts } from 'parley-forum/plugins/accounts';
import { openModeration, sanctionMembers } from 'parley-forum/plugins/moderation';
import { reportActions } from 'parley-forum/plugins/reports';
import { fill, mainStart, slotFillings, type Web } from 'parley-forum/plugins/web';
import { STANDING } from './notifications.ts';
import { memberPath } from './pages/shared.ts';

interface SlotsDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly web: Web;
}

/** What moderation adds to the pages of others: why a member may not write, and the ways to the page of a member. */
export function fillSlots(plugin: PluginHandle, { access, accounts, web }: SlotsDeps): void {
  plugin.extend(
    slotFillings,
    fill(mainStart, async (contexts, viewer) => {
      const suspension = access.suspension(viewer.id);
      const banned = viewer.group.level === 'banned';
      if (!suspension && !banned) return [];
      const notice = await web.fragment(viewer, '@moderation/sanction-notice', {
        ...suspension,
        banned,
        href: STANDING,
      });
      return contexts.map(() => notice);
    }),
  );

  plugin.extend(
    slotFillings,
    fill(profileAbout, (people, viewer) =>
      Promise.all(
        people.map(async ({ id, username }) => {
          if (id === viewer.id || !access.allows(viewer, openModeration)) return undefined;
          return web.fragment(viewer, '@moderation/profile-link', { href: memberPath(username) });
        }),
      ),
    ),
  );

  plugin.extend(
    slotFillings,
    fill(reportActions, async (reports, viewer) => {
      if (!access.allows(viewer, sanctionMembers)) return [];
      const authors = await accounts.authors(reports.map((report) => report.author_id));
      return Promise.all(
        reports.map(async (report) => {
          const author = authors.get(report.author_id);
          if (!author || author.id === viewer.id) return undefined;
          return web.fragment(viewer, '@moderation/report-action', {
            author,
            href: memberPath(author.username),
          });
        }),
      );
    }),
  );
}
