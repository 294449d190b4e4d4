import type { Author, ProfileTab } from 'parley-forum/plugins/accounts';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { pagerOf, type Web } from 'parley-forum/plugins/web';
import type { GivenReaction, ReactionService } from './reaction-service.ts';
import { shownType } from './shown-types.ts';

interface ProfileTabDeps {
  readonly web: Web;
  readonly discussions: Pick<Discussions, 'posts' | 'records'>;
  readonly markdown: Markdown;
  readonly reactions: ReactionService;
}
/** Rows per page. */
const PAGE = 20;
/** The length of a post's excerpt, in characters. */
const EXCERPT = 280;

/** A profile tab with the posts a member reacted to, limited to those the viewer may see. */
export function reactionsTab({ web, discussions, markdown, reactions }: ProfileTabDeps): ProfileTab {
  const rowsOf = async (given: readonly GivenReaction[], viewer: Viewer): Promise<readonly object[]> => {
    const found = await discussions.posts([...new Set(given.map(({ postId }) => postId))], viewer);
    const posts = new Map(found.map((post) => [post.id, post]));
    const ids = [...new Set(found.map((post) => post.discussion_id))];
    const heads = new Map((await discussions.records(ids, viewer)).map((discussion) => [discussion.id, discussion]));
    const types = new Map(reactions.types().map((type) => [type.slug, shownType(web, type)]));
    return given.flatMap(({ postId, type, createdAt }) => {
      const post = posts.get(postId);
      const discussion = post && heads.get(post.discussion_id);
      if (!discussion) return [];
      return [
        {
          type: types.get(type),
          title: discussion.title,
          url: `/d/${discussion.number}/${post.number}`,
          author: post.author,
          excerpt: markdown.excerpt(post.content, EXCERPT),
          created_at: createdAt,
        },
      ];
    });
  };
  return {
    id: 'reactions',
    label: 'reactions:profile',
    async render(profile: Author, viewer: Viewer, query) {
      const page = Math.min(Math.max(1, Math.trunc(Number(query['page'])) || 1), 100_000);
      const part = { limit: PAGE, offset: (page - 1) * PAGE, before: undefined };
      const given = await reactions.reactionsBy(profile.id, part, viewer);
      const path = `/u/${encodeURIComponent(profile.username)}/reactions`;
      return web.fragment(viewer, '@reactions/profile', {
        rows: await rowsOf(given.slice(0, PAGE), viewer),
        pager: pagerOf(page, given.length > PAGE ? page + 1 : page, path),
      });
    },
  };
}
