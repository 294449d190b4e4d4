import { Type } from 'parley-forum';
import { api, IdParams, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { ParticipantRecord, type DiscussionHead } from 'parley-forum/plugins/discussions';
import { pages, phrase, view } from 'parley-forum/plugins/web';
import { cacheTagsOf } from '../discussion-routes.ts';
import { discussionPath, peoplePath } from '../identifiers.ts';
import { findByPath, type PageDeps } from '../page-parts.ts';
import type { Participants } from './participants.ts';

/** Number of people on one page. */
const PAGE_SIZE = 50;

/** The participants of a discussion: GET /api/discussions/{id}/participants and /d/{number}/people. */
export function participantRoutes(
  { plugin, reader, settings }: Pick<PageDeps, 'plugin' | 'reader' | 'settings'>,
  participants: Participants,
): void {
  const cacheTags = ({ target }: { readonly target: DiscussionHead }) => cacheTagsOf(target.id);

  plugin.route(api, {
    method: 'get',
    path: '/discussions/:id/participants',
    can: 'public',
    summary: 'Participants of a discussion, those with the most posts first',
    params: IdParams,
    query: Type.Object(Paging),
    result: listOf('participants', ParticipantRecord),
    load: ({ actor, params }) => reader.find(params.id, actor),
    cacheTags,
  })(async ({ target, query: { limit, ...query } }) => {
    const page = await participants.list(target.id, { ...query, limit: limitOf(settings, limit) });
    return { participants: [...page.items], ...pageFields(page) };
  });

  plugin.route(pages, {
    method: 'get',
    path: '/d/:address/people',
    can: 'public',
    load: findByPath({ reader }),
    cacheTags,
    query: Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 300 })) }),
  })(async ({ target, query: { cursor } }) => {
    const { items, nextCursor } = await participants.list(target.id, { limit: PAGE_SIZE, cursor });
    const path = peoplePath(target.number);
    return view(
      '@discussions/people',
      { name: 'people', title: phrase('discussions:people.in', { title: target.title }), noindex: true },
      {
        title: target.title,
        back: discussionPath(target),
        people: items,
        next: nextCursor !== undefined && `${path}?${new URLSearchParams({ cursor: nextCursor })}`,
      },
    );
  });
}
