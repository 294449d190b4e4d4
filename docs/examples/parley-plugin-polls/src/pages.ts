import { Type, type PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { composerFields, postAfterBody, type Discussions } from 'parley-forum/plugins/discussions';
import { fill, pages, redirect, slotFillings, type Web } from 'parley-forum/plugins/web';
import { vote, type Polls } from './api.ts';

interface PageDeps {
  readonly access: Access;
  readonly discussions: Discussions;
  readonly polls: Polls;
  readonly web: Web;
}

/** The poll under the first post with the form that votes, and the field for the options of a new one. */
export function addPages(plugin: PluginHandle, { access, discussions, polls, web }: PageDeps): void {
  plugin.route(pages, {
    method: 'post',
    path: '/polls/:id',
    can: vote,
    summary: 'Vote',
    params: Type.Object({ id: Type.String() }),
    body: Type.Object({ option: Type.Integer({ minimum: 0 }) }),
    load: ({ params, actor }) => discussions.find(params.id, actor),
  })(async ({ target, body, actor }) => {
    await polls.vote(target.id, body.option, actor);
    return redirect(`/d/${target.number}`);
  });

  plugin.extend(
    slotFillings,
    fill(postAfterBody, async (posts, viewer: Viewer) => {
      const first = posts.filter((post) => post.is_first);
      const found = await polls.ofDiscussions(
        first.map((post) => post.discussion_id),
        viewer,
      );
      const byPost = new Map(first.map(({ id }, index) => [id, found[index]]));
      return Promise.all(
        posts.map(async (post) => {
          const poll = byPost.get(post.id);
          if (!poll) return undefined;
          const options = poll.options.map((option, index) => ({ ...option, index, chosen: index === poll.choice }));
          const may = !poll.is_closed && access.allows(viewer, vote);
          return web.fragment(viewer, '@polls/poll', { ...poll, id: post.discussion_id, options, may });
        }),
      );
    }),
  );

  plugin.extend(
    slotFillings,
    fill(composerFields, (forms, viewer) =>
      Promise.all(
        forms.map(async ({ writes, discussion, values }) => {
          if (writes !== 'discussion' || discussion) return undefined;
          return web.fragment(viewer, '@polls/field', { value: values['poll'] });
        }),
      ),
    ),
  );
}
