import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { profileAbout, queueAuthor, type Accounts, type Author } from 'parley-forum/plugins/accounts';
import { openModeration, sanctionMembers } from 'parley-forum/plugins/moderation';
import { reportActions } from 'parley-forum/plugins/reports';
import { fill, mainStart, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { STANDING } from './notifications.ts';
import { memberPath } from './pages/shared.ts';

interface SlotsDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly web: Web;
}

/**
 * Adds to other plugins' pages the notice why a member may not write, and links to the moderators' page of a member.
 */
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

  const judge = async (author: Author, viewer: Viewer, template: string): Promise<SafeHtml | undefined> =>
    author.id === viewer.id ? undefined : web.fragment(viewer, template, { author, href: memberPath(author.username) });
  plugin.extend(
    slotFillings,
    fill(queueAuthor, (authors, viewer) =>
      access.allows(viewer, sanctionMembers)
        ? Promise.all(authors.map((author) => judge(author, viewer, '@moderation/queue-author')))
        : [],
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
          return author && judge(author, viewer, '@moderation/report-action');
        }),
      );
    }),
  );
}
