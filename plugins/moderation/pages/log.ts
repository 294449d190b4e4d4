import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { ACTIONS, openModeration } from 'parley-forum/plugins/moderation';
import { pagerOf, pages, view } from 'parley-forum/plugins/web';
import { HOME, lineModel, LOG, type PageServices } from './parts.ts';

const PAGE = 30;
const Query = Type.Object({
  action: Type.Optional(Type.String({ maxLength: 40 })),
  actor: Type.Optional(Type.String({ maxLength: 64 })),
  member: Type.Optional(Type.String({ maxLength: 64 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
});
/** Nobody's, so that a name nobody has finds nothing. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** /mod/log: what moderators did, by what, by whom and to whom. */
export function logPages({ plugin, accounts, log }: PageServices): void {
  /** Undefined where no name is given. Addresses are no names: nobody finds out here whose they are. */
  const idOf = async (name: string): Promise<string | undefined> => {
    if (name === '') return undefined;
    return (name.includes('@') ? undefined : (await accounts.findByIdentifier(name))?.id) ?? NOBODY;
  };
  const linesOf = async (
    { action, actor, member }: Readonly<Record<'action' | 'actor' | 'member', string>>,
    page: number,
    viewer: Viewer,
  ) => {
    const chosen = ACTIONS.find((name) => name === action);
    const request = {
      action: chosen,
      actorId: await idOf(actor),
      userId: await idOf(member),
      limit: PAGE,
      offset: (page - 1) * PAGE,
    };
    return action === '' || chosen !== undefined ? log.list(request, viewer) : { items: [], hasMore: false };
  };

  plugin.route(pages, { method: 'get', path: LOG, can: openModeration, options: { login: true }, query: Query })(
    async ({ actor: viewer, query }) => {
      const { page = 1, action = '', actor = '', member = '' } = query;
      const values = { action, actor: actor.trim(), member: member.trim() };
      const { items, hasMore } = await linesOf(values, page, viewer);
      const address = (number: number): string => {
        const given = new URLSearchParams(
          Object.entries({ ...values, page: number > 1 ? String(number) : '' }).filter(([, value]) => value !== ''),
        );
        return given.size > 0 ? `${LOG}?${given}` : LOG;
      };
      const model = {
        values,
        home: HOME,
        lines: items.map(lineModel),
        actions: ACTIONS.map((name) => ({ value: name, label: `moderation:action.${name}`, current: name === action })),
        pager: pagerOf(page, hasMore ? page + 1 : page, address),
      };
      return view(
        '@moderation/log',
        { name: 'moderation', title: 'Moderation log', noindex: true, current: HOME },
        model,
      );
    },
  );
}
