import type { Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { profileTabs, userFields, type Accounts } from 'parley-forum/plugins/accounts';
import type { Admin } from 'parley-forum/plugins/admin';
import { navigation, pageViewListeners, shortcuts, sidebarSections, type Web } from 'parley-forum/plugins/web';
import type { AuthorStatistics } from './counters/author-statistics.ts';
import type { PageViewCounter } from './counters/page-views.ts';
import { bulkPages } from './bulk/pages.ts';
import { adminPages } from './categories/admin-pages.ts';
import { discussionPages } from './reading/pages.ts';
import { postMenuPage } from './reading/post-menu.ts';
import { printPages } from './reading/print-pages.ts';
import { managePages, postPages } from './writing/edit-pages.ts';
import { movePages } from './moving/pages.ts';
import { historyPages } from './revisions/pages.ts';
import { firstSteps } from 'parley-forum/ports/suggestions';
import { keysOf } from './keys.ts';
import { listPages } from './lists/pages.ts';
import { siteZone, type PageDeps } from './page-parts.ts';
import { profileTabsOf } from './lists/profile-tabs.ts';
import { writingPages } from './writing/new-pages.ts';

interface AddPagesDeps {
  readonly data: Data;
  readonly statistics: AuthorStatistics;
  readonly views: PageViewCounter;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'idsByUsername'>;
  readonly web: Web | undefined;
  readonly admin: Admin | undefined;
}

/** Adds all pages about discussions, and their parts of other plugins' pages. */
export function addPages(
  deps: PageDeps,
  { data, statistics, views, access, accounts, web, admin }: AddPagesDeps,
): void {
  const { plugin, categories, rights } = deps;
  listPages(deps, access);
  discussionPages(deps, () => web?.zone ?? siteZone(deps));
  printPages(deps);
  writingPages(deps);
  postPages(deps);
  if (web) postMenuPage(deps, web);
  managePages(deps);
  bulkPages(deps, { accounts });
  movePages(deps, { data });
  historyPages(deps);
  if (admin && web) adminPages(deps, { admin, access, web });

  plugin.extend(
    navigation,
    { area: 'main', label: 'discussions:nav.discussions', href: '/', icon: 'discussions' },
    -20,
  );
  plugin.extend(
    navigation,
    { area: 'main', label: 'discussions:nav.categories', href: '/categories', icon: 'categories' },
    -10,
  );
  plugin.extend(
    navigation,
    {
      area: 'main',
      label: 'discussions:nav.new',
      href: '/new',
      icon: 'plus',
      visible: (viewer) => rights.canStartAnywhere(viewer),
    },
    -5,
  );
  plugin.extend(navigation, { area: 'tabs', label: 'discussions:nav.home', href: '/', icon: 'home' }, -20);
  plugin.extend(
    navigation,
    {
      area: 'tabs',
      label: 'discussions:nav.new',
      href: '/new',
      icon: 'plus',
      visible: (viewer) => rights.canStartAnywhere(viewer),
    },
    -5,
  );
  for (const shortcut of keysOf((viewer) => rights.canStartAnywhere(viewer))) plugin.extend(shortcuts, shortcut);
  plugin.extend(sidebarSections, {
    title: 'discussions:sidebar.categories',
    items: async (viewer) => {
      await categories.refresh();
      const count = await categories.counts();
      return categories.visible(viewer).map(({ id, name, slug, hue }) => ({
        label: name,
        href: `/c/${encodeURIComponent(slug)}`,
        hue,
        count: count(id).discussions,
      }));
    },
  });
  plugin.extend(pageViewListeners, views);
  plugin.defer(views.start());
  plugin.extend(
    firstSteps,
    {
      label: 'discussions:first-step',
      href: '/new',
      done: async (member) => (await statistics.of([member.id!], member))[0]!.posts > 0,
    },
    20,
  );
  for (const field of statistics.fields()) plugin.extend(userFields, field);
  if (web) for (const tab of profileTabsOf(deps, web, statistics)) plugin.extend(profileTabs, tab);
}
