import { notFound, Type, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { acceptAnswers } from 'parley-forum/plugins/answers';
import { api, Id, IdParams } from 'parley-forum/plugins/api';
import type { DiscussionHead, Discussions } from 'parley-forum/plugins/discussions';
import type { AnswerService } from './answer-service.ts';
import type { AnswerStore } from './answer-store.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly discussions: Discussions;
  readonly store: AnswerStore;
  readonly answers: AnswerService;
}

/** /api/discussions/{id}/answer. */
export function answerRoutes({ plugin, discussions, store, answers }: RouteDeps): void {
  const target = {
    can: acceptAnswers,
    path: '/discussions/:id/answer',
    params: IdParams,
    result: Type.Object({ discussion: discussions.record }),
    load: ({ actor, params }: { actor: Viewer; params: { id: string } }) => discussions.find(params.id, actor),
    authorize: ({ actor, target: head }: { actor: Viewer; target: DiscussionHead }) => answers.mayDecide(head, actor),
  } as const;
  const shown = async ({ id }: DiscussionHead, viewer: Viewer) => {
    const [discussion] = await discussions.records([id], viewer);
    if (!discussion) throw notFound('There is no such discussion');
    return { discussion };
  };

  plugin.route(api, {
    ...target,
    method: 'put',
    summary: 'Accept a post as the answer, replacing the previous one; for the author of the question and moderators',
    body: Type.Object({ post_id: Id }),
  })(async ({ actor, target: head, body }) => {
    const post = await discussions.findPost(body.post_id, actor);
    if (post?.discussion.id !== head.id) throw notFound('There is no such post in this discussion');
    await answers.accept(post, actor);
    return shown(head, actor);
  });

  plugin.route(api, { ...target, method: 'delete', summary: 'Unmark the accepted answer' })(
    async ({ actor, target: head }) => {
      const [answer] = await store.ofDiscussions([head.id]);
      const post = answer && (await discussions.findPost(answer.postId, actor));
      if (!post) throw notFound('This discussion has no accepted answer');
      await answers.withdraw(post, actor);
      return shown(head, actor);
    },
  );
}
