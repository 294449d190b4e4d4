import type { Access } from 'parley-forum/plugins/access';
import { profileTabs, userFields } from 'parley-forum/plugins/accounts';
import type { Admin } from 'parley-forum/plugins/admin';
import { navigation, pageViewListeners, sidebarSections, type Web } from 'parley-forum/plugins/web';
import type { Counts } from './counters/author-statistics.ts';
import type { ViewCounts } from './counters/page-views.ts';
import { adminPages } from './categories/admin-pages.ts';
import { discussionPages } from './reading/pages.ts';
import { managePages, postPages } from './writing/edit-pages.ts';
import { historyPages } from './revisions/pages.ts';
import { listPages } from './lists/pages.ts';
import type { PageServices } from './page-parts.ts';
import { profileTabsOf } from './lists/profile-tabs.ts';
import { writingPages } from './writing/new-pages.ts';

interface Parts {
  readonly counts: Counts;
  readonly views: ViewCounts;
  readonly access: Access;
  readonly web: Web | undefined;
  readonly admin: Admin | undefined;
}

/** All pages of discussions, and what they add to other plugins' pages. */
export function addPages(services: PageServices, { counts, views, access, web, admin }: Parts): void {
  const { plugin, categories, rights } = services;
  listPages(services);
  discussionPages(services);
  writingPages(services);
  postPages(services);
  managePages(services);
  historyPages(services);
  if (admin) adminPages(services, { admin, access });

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
      visible: (viewer) => rights.anywhere(viewer),
    },
    -5,
  );
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
  for (const field of counts.fields()) plugin.extend(userFields, field);
  if (web) for (const tab of profileTabsOf(services, web, counts)) plugin.extend(profileTabs, tab);
}
