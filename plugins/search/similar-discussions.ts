import { Type, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api } from 'parley-forum/plugins/api';
import { composerAfterTitle, DiscussionRecord } from 'parley-forum/plugins/discussions';
import type { Search } from 'parley-forum/plugins/search';
import { fill, html, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { SUGGESTIONS_BUCKET } from './suggestions.ts';

/** Maximum length of a title in characters. */
const LONGEST = 200;

/** GET /api/search/similar, and the list of similar discussions below the title of a new one. */
export function addSimilarDiscussions(plugin: PluginHandle, search: Search, web: Web | undefined): void {
  const listOf = async (discussions: readonly object[], viewer: Viewer): Promise<SafeHtml | undefined> =>
    discussions.length === 0 ? undefined : web?.fragment(viewer, '@search/similar', { discussions });

  plugin.route(api, {
    method: 'get',
    path: '/search/similar',
    can: 'member',
    summary: 'Discussions whose titles are similar to the given one, closest first; at most five',
    query: Type.Object({ title: Type.String({ pattern: '\\S', maxLength: LONGEST }) }),
    result: Type.Object({
      discussions: Type.Array(
        Type.Pick(DiscussionRecord, ['id', 'number', 'title', 'url', 'category', 'reply_count', 'last_post_at']),
      ),
      html: Type.String({ description: 'The same, rendered as a list; empty if there are none' }),
    }),
    options: { bucket: SUGGESTIONS_BUCKET },
  })(async ({ actor, query }) => {
    const found = await search.similar(query.title, actor);
    const discussions = found.map(({ id, number, title, url, category, reply_count, last_post_at }) => ({
      id,
      number,
      title,
      url,
      category,
      reply_count,
      last_post_at,
    }));
    return { discussions, html: (await listOf(discussions, actor))?.toString() ?? '' };
  });

  // If the form is rendered with a title, such as after a preview, the list is included without script.
  const place = fill(composerAfterTitle, (forms, viewer) =>
    Promise.all(
      forms.map(async ({ values: { title } }) => {
        const typed = typeof title === 'string' ? title.slice(0, LONGEST) : '';
        const list = await listOf(await search.similar(typed, viewer), viewer);
        return html`<x-similar class="similar" data-when="[name=title]">${list}</x-similar>`;
      }),
    ),
  );
  plugin.extend(slotFillings, place);
}
