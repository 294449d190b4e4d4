import type { Author, ProfileTab } from 'parley-forum/plugins/accounts';
import type { Viewer } from 'parley-forum/plugins/access';
import { pagerOf, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import type { AuthorStatistics } from '../counters/author-statistics.ts';
import { postPath } from '../identifiers.ts';
import { listItems } from './list-items.ts';
import { PAGE_SIZE, type PageDeps } from '../page-parts.ts';

const pageOf = (query: Readonly<Record<string, string | undefined>>): number =>
  Math.min(Math.max(1, Math.trunc(Number(query['page'])) || 1), 100_000);

/** Profile tabs with the discussions and posts of a member. */
export function profileTabsOf(
  { reader, categories, markdown }: PageDeps,
  web: Web,
  statistics: AuthorStatistics,
): readonly ProfileTab[] {
  const pager = (profile: Author, tab: string, page: number, hasMore: boolean) =>
    pagerOf(page, hasMore ? page + 1 : page, `/u/${encodeURIComponent(profile.username)}/${tab}`);
  const discussions = async (
    profile: Author,
    viewer: Viewer,
    query: Readonly<Record<string, string | undefined>>,
  ): Promise<SafeHtml> => {
    const page = pageOf(query);
    const { items, hasMore } = await reader.list(
      { authorId: profile.id, sort: 'newest', limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE },
      viewer,
    );
    return web.fragment(viewer, '@discussions/profile-discussions', {
      discussions: listItems(items, categories.all()),
      pager: pager(profile, 'discussions', page, hasMore),
    });
  };
  const posts = async (
    profile: Author,
    viewer: Viewer,
    query: Readonly<Record<string, string | undefined>>,
  ): Promise<SafeHtml> => {
    const page = pageOf(query);
    const { items, hasMore } = await reader.postsBy(
      profile.id,
      { limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE, before: undefined },
      viewer,
    );
    const titles = new Map(
      (await reader.recordsOf([...new Set(items.map((post) => post.discussion_id))], viewer)).map((discussion) => [
        discussion.id,
        discussion,
      ]),
    );
    const shown = items.flatMap((post) => {
      const discussion = titles.get(post.discussion_id);
      if (!discussion) return [];
      const excerpt = markdown.excerpt(post.content, 280);
      return [
        {
          title: discussion.title,
          url: postPath(discussion.number, post.number),
          excerpt,
          created_at: post.created_at,
        },
      ];
    });
    return web.fragment(viewer, '@discussions/profile-posts', {
      posts: shown,
      pager: pager(profile, 'posts', page, hasMore),
    });
  };
  return [
    {
      id: 'discussions',
      label: 'discussions:profile.discussions',
      count: async ({ id }, viewer) => (await statistics.of([id], viewer))[0]?.discussions ?? 0,
      render: discussions,
    },
    {
      id: 'posts',
      label: 'discussions:profile.posts',
      count: async ({ id }, viewer) => (await statistics.of([id], viewer))[0]?.posts ?? 0,
      render: posts,
    },
  ];
}
