import { notFound, Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { acceptAnswers, type AcceptedAnswer } from 'parley-forum/plugins/answers';
import {
  cardBadges,
  categoryFormFields,
  headBadges,
  postAfterBody,
  postBadges,
  postMenu,
  type DiscussionRecord,
  type PostRecord,
} from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import {
  fill,
  pages,
  phrase,
  redirect,
  slotFillings,
  type SafeHtml,
  type Slot,
  type Web,
} from 'parley-forum/plugins/web';
import type { RouteDeps } from './routes.ts';

export interface PageDeps extends RouteDeps {
  readonly markdown: Pick<Markdown, 'excerpt'>;
  readonly web: Web;
}
type SolvedDiscussion = DiscussionRecord & { readonly accepted_answer?: AcceptedAnswer | null };
type AnswerPost = PostRecord & { readonly is_accepted_answer?: boolean };

/** The length of the answer's excerpt below the question, in characters. */
const EXCERPT = 280;

/** Shows answers on pages, and adds the form to a post's menu. */
export function answerPages(deps: PageDeps): void {
  const { plugin, discussions, answers, store, web } = deps;
  const badges = <T>(slot: Slot<T>, shown: (item: T) => boolean, label: string): void =>
    plugin.extend(
      slotFillings,
      fill(
        slot,
        async (items, viewer) => {
          const badge = items.some(shown) ? await web.fragment(viewer, '@answers/badge', { label }) : undefined;
          return items.map((item) => (shown(item) ? badge : undefined));
        },
        { shared: true },
      ),
    );
  const solved = ({ accepted_answer: answer }: SolvedDiscussion): boolean => Boolean(answer);
  badges<DiscussionRecord>(cardBadges, solved, 'answers:solved');
  badges<DiscussionRecord>(headBadges, solved, 'answers:solved');
  badges<PostRecord>(postBadges, (post: AnswerPost) => post.is_accepted_answer === true, 'answers:accepted');

  plugin.extend(
    slotFillings,
    fill(postAfterBody, (posts, viewer) => quotes(deps, posts, viewer), { shared: true }),
  );
  plugin.extend(
    slotFillings,
    fill(postMenu, (posts: readonly AnswerPost[], viewer) =>
      Promise.all(posts.map((post) => menuItem(deps, post, viewer))),
    ),
  );
  plugin.extend(
    slotFillings,
    fill(categoryFormFields, async (contexts, viewer) => {
      const asking = await store.categories();
      return Promise.all(
        contexts.map(({ category, values }) => {
          const checked = values['asks_for_answers'] ?? (category !== undefined && asking.has(category.id));
          return web.fragment(viewer, '@answers/category-field', { checked });
        }),
      );
    }),
  );

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/answer',
    can: acceptAnswers,
    body: Type.Object({ accepted: Type.Boolean() }),
    load: ({ actor, params }) => discussions.findPost(params['id'] ?? '', actor),
    authorize: ({ actor, target }) => answers.mayDecide(target.discussion, actor),
  })(async ({ actor, target, body: { accepted } }) => {
    if (target.deleted) throw notFound();
    if (accepted) await answers.accept(target, actor);
    else await answers.withdraw(target, actor);
    const notice = phrase(accepted ? 'answers:accepted.notice' : 'answers:withdrawn.notice');
    return redirect(`/d/${target.discussion.number}/${target.number}`, { notice });
  });
}

/** For each solved question, the beginning of its answer with a link to it. */
async function quotes(
  { discussions, store, markdown, web }: PageDeps,
  posts: readonly PostRecord[],
  viewer: Viewer,
): Promise<readonly (SafeHtml | undefined)[]> {
  const questions = posts.filter((post) => post.is_first && !post.is_deleted);
  const found = await store.ofDiscussions(questions.map((post) => post.discussion_id));
  const ids = found.flatMap((answer) => answer?.postId ?? []);
  const shown = ids.length > 0 ? await discussions.posts(ids, viewer) : [];
  return Promise.all(
    posts.map(async (post) => {
      const answer = post.is_first ? shown.find((one) => one.discussion_id === post.discussion_id) : undefined;
      const head = answer && (await discussions.find(answer.discussion_id, viewer));
      if (!answer || !head) return undefined;
      const model = {
        number: answer.number,
        author: answer.author,
        created_at: answer.created_at,
        excerpt: markdown.excerpt(answer.content, EXCERPT),
        path: `/d/${head.number}/${answer.number}`,
      };
      return web.fragment(viewer, '@answers/quote', model);
    }),
  );
}

/** The menu item of each reply, for viewers who may accept an answer. */
async function menuItem(
  { discussions, answers, store, web }: PageDeps,
  { id, discussion_id: discussionId, is_first: first, is_accepted_answer: accepted = false }: AnswerPost,
  viewer: Viewer,
): Promise<SafeHtml | undefined> {
  const head = first || viewer.id === undefined ? undefined : await discussions.find(discussionId, viewer);
  if (!head || !answers.mayDecide(head, viewer) || !(await store.categories()).has(head.categoryId)) return undefined;
  return web.fragment(viewer, '@answers/menu-item', { id, accepted });
}
