import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { navigation, pagerOf, pages, phrase, view } from 'parley-forum/plugins/web';
import type { NamedEntry } from '../moderation-log.ts';
import { STANDING, NOTIFIED_ACTIONS } from '../notifications.ts';
import type { PagesDeps } from './shared.ts';

const PAGE = 20;
const Query = Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })) });

/** /settings/standing: what moderators did to the member and their posts, and why, but not who did it. */
export function standingPages({ plugin, discussions, log }: PagesDeps): void {
  const shown = async (entries: readonly NamedEntry[], viewer: Viewer): Promise<readonly object[]> => {
    const records = await discussions.records(
      entries.flatMap((entry) => entry.discussion_id ?? []),
      viewer,
    );
    return entries.map(
      ({ id, action, reason, until, created_at: at, discussion_id: discussion, post_number: post }) => {
        const seen = records.find((record) => record.id === discussion);
        const href = seen && `/d/${seen.number}${post === null ? '' : `/${post}`}`;
        return { id, action: `moderation:action.${action}`, reason, until, at, title: seen?.title, href };
      },
    );
  };

  plugin.extend(navigation, { area: 'settings', label: 'moderation:standing.tab', href: STANDING });
  plugin.route(pages, { method: 'get', path: STANDING, can: 'member', query: Query })(
    async ({ actor, query: { page = 1 } }) => {
      const { items, hasMore } = await log.aboutMember(actor.id, {
        actions: NOTIFIED_ACTIONS,
        limit: PAGE,
        offset: (page - 1) * PAGE,
      });
      const model = {
        entries: await shown(items, actor),
        pager: pagerOf(page, hasMore ? page + 1 : page, STANDING),
      };
      return view(
        '@moderation/standing',
        { name: 'settings', title: phrase('moderation:standing'), noindex: true },
        model,
      );
    },
  );
}
