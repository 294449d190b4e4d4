import { Type, type Clock, type PluginHandle, type Settings } from 'parley-forum';
import { api, IdParams, limitOf, pageFields, Paging, pagingResult } from 'parley-forum/plugins/api';
import { discussionCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import { ReadMark } from 'parley-forum/plugins/read-marks';
import { RENDERED_TTL, renderedTag, type Web } from 'parley-forum/plugins/web';
import { unreadTags, type ReadMarkService } from './read-mark-service.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly discussions: Discussions;
  readonly marks: ReadMarkService;
  readonly web: Web | undefined;
}
/** The maximum number of discussions per request. */
const MAX_BATCH = 100;

/** /api/unread and /api/read-marks. */
export function addRoutes({ plugin, settings, clock, discussions, marks, web }: RouteDeps): void {
  plugin.route(api, {
    method: 'get',
    path: '/unread',
    can: 'member',
    summary: 'Discussions with posts that the caller has not read, most recent activity first',
    query: Type.Object({
      ...Paging,
      new: Type.Optional(Type.Boolean({ description: 'Only those that the caller never opened, newest first' })),
    }),
    result: Type.Object({ discussions: Type.Array(discussions.record), html: Type.String(), ...pagingResult }),
    cacheTags: () => [...unreadTags, discussionCacheTags.views, renderedTag],
  })(async (call) => {
    const { actor, query } = call;
    const { limit, offset, cursor, new: onlyNew = false } = query;
    const page = await marks.listOf(actor, { onlyNew, limit: limitOf(settings, limit), offset, cursor });
    if (web) call.expiresAt = clock.now() + RENDERED_TTL;
    const html = await web?.fragment(
      actor,
      '@discussions/rows',
      { discussions: await discussions.listItems(page.items) },
      { inSiteLanguage: true },
    );
    return { discussions: [...page.items], html: html?.toString() ?? '', ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'post',
    path: '/read-marks',
    can: 'member',
    summary: 'Advances the caller’s read marks; a mark that is already further ahead stays',
    body: Type.Object({
      read_marks: Type.Array(
        Type.Object({
          discussion_id: Type.String({ format: 'uuid' }),
          number: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Number of the last post seen' }),
        }),
        { minItems: 1, maxItems: MAX_BATCH },
      ),
    }),
    result: Type.Object({ read_marks: Type.Array(ReadMark) }),
  })(async ({ actor, body }) => {
    const numbers = new Map<string, number>();
    for (const { discussion_id, number } of body.read_marks) {
      const id = discussion_id.toLowerCase();
      numbers.set(id, Math.max(number, numbers.get(id) ?? 0));
    }
    const seen = await marks.read(actor, numbers);
    return { read_marks: [...(await marks.of(seen, actor))] };
  });

  plugin.route(api, {
    method: 'post',
    path: '/read-marks/all',
    can: 'member',
    summary: 'Marks everything as read, or everything in a category',
    body: Type.Object({
      category_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Id or slug' })),
    }),
    result: Type.Object({}),
  })(async ({ actor, body }) => {
    await marks.readAll(actor, body.category_id);
    return {};
  });

  plugin.route(api, {
    method: 'post',
    path: '/posts/:id/unread',
    can: 'member',
    summary: 'Marks a post and all later ones as unread',
    params: IdParams,
    result: Type.Object({ read_mark: ReadMark }),
    load: ({ actor, params }) => discussions.findPost(params.id, actor),
  })(async ({ actor, target }) => {
    await marks.unreadFrom(target, actor);
    const [mark] = await marks.of([target.discussion.id], actor);
    return { read_mark: mark! };
  });
}
