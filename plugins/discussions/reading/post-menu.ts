import { negotiated, pages, phrase, view, type Web } from 'parley-forum/plugins/web';
import { postPath } from '../identifiers.ts';
import { postActions, type PageDeps } from '../page-parts.ts';

/**
 * /p/…/menu: the actions for a post. Without script, this is a page of its own; with script, its items are fetched into
 * the menu of the discussion's page when that is opened.
 */
export function postMenuPage(deps: PageDeps, web: Web): void {
  const { plugin, reader, records, rights } = deps;
  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/menu',
    can: 'member',
    load: ({ actor, params }) => reader.findPost(params['id'] ?? '', actor),
    authorize: ({ target }) => target.row.deleted_at === null,
  })(async ({ actor, target: { row, discussion } }) => {
    const [post] = await records.posts([row], actor, false);
    const url = postPath(discussion.number, row.number);
    const model = { post: { ...post, url, actions: postActions(row, discussion, rights, actor) } };
    const title = phrase('discussions:post.of', { number: row.number, title: discussion.title });
    return negotiated(
      view('@discussions/post-menu', { name: 'post', title, noindex: true }, { ...model, title, discussion }),
      { success: true, html: String(await web.fragment(actor, '@discussions/post-menu-items', model)) },
    );
  });
}
