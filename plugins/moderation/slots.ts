import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { profileAbout, queueAuthor, queueAuthorFacts, type Accounts, type Author } from 'parley-forum/plugins/accounts';
import { postMenu, type Discussions } from 'parley-forum/plugins/discussions';
import { openModeration, sanctionMembers } from 'parley-forum/plugins/moderation';
import { reportActions } from 'parley-forum/plugins/reports';
import { fill, mainStart, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import type { ModerationLog } from './moderation-log.ts';
import { STANDING } from './notifications.ts';
import { memberPath } from './pages/shared.ts';
import type { Sanctions } from './sanctions.ts';

interface SlotsDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'authors' | 'find' | 'records'>;
  readonly discussions: Pick<Discussions, 'postCounts'>;
  readonly log: ModerationLog;
  readonly sanctions: Sanctions;
  readonly web: Web;
}

/**
 * Adds to other plugins' pages the notice why a member may not write, and links to the moderators' page of a member.
 */
export function fillSlots(plugin: PluginHandle, deps: SlotsDeps): void {
  const { access, accounts, sanctions, web } = deps;
  plugin.extend(
    slotFillings,
    fill(queueAuthorFacts, (authors, viewer) =>
      access.allows(viewer, openModeration) ? authorFacts(deps, authors, viewer) : [],
    ),
  );
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
    fill(postMenu, (posts, viewer) =>
      access.allows(viewer, openModeration)
        ? Promise.all(
            posts.map(async ({ author }) => {
              const account = author.id === viewer.id ? undefined : await accounts.find(author.id);
              if (!account) return undefined;
              const href = memberPath(account.username);
              const may = access.allows(viewer, sanctionMembers) && sanctions.outranks(viewer, account);
              return web.fragment(viewer, '@moderation/menu-items', { author, href, act: may && `${href}#act-title` });
            }),
          )
        : [],
    ),
    5,
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

/** What is known of each author of the items in a queue: a number of statements that does not depend on how many. */
async function authorFacts(
  { access, accounts, discussions, log, web }: SlotsDeps,
  authors: readonly Author[],
  viewer: Viewer,
): Promise<readonly SafeHtml[]> {
  const ids = [...new Set(authors.map(({ id }) => id))];
  const [people, counts, pasts] = await Promise.all([
    accounts.records(ids, viewer),
    discussions.postCounts(ids, viewer),
    log.pasts(ids, viewer),
  ]);
  const known = new Map(people.map((one) => [one.id, one]));
  return Promise.all(
    authors.map(({ id }) =>
      web.fragment(viewer, '@moderation/author-facts', {
        joined_at: known.get(id)?.joined_at,
        posts: counts.get(id) ?? 0,
        past: pasts.get(id),
        banned: access.group(known.get(id)?.group.id ?? '')?.level === 'banned',
        suspension: access.suspension(id),
      }),
    ),
  );
}
