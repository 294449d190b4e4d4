import { Type, ZERO_ID } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { ACTIONS, openModeration } from 'parley-forum/plugins/moderation';
import { pagerOf, pages, phrase, view } from 'parley-forum/plugins/web';
import { HOME, entryModel, LOG, type PagesDeps } from './shared.ts';

const PAGE = 30;
const Query = Type.Object({
  action: Type.Optional(Type.String({ maxLength: 40 })),
  actor: Type.Optional(Type.String({ maxLength: 64 })),
  member: Type.Optional(Type.String({ maxLength: 64 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
});
/** An id that no account has, so that an unknown name finds nothing. */
const NO_ONE = ZERO_ID;

/** /mod/log: what moderators did, by what, by whom and to whom. */
export function logPages({ plugin, accounts, log }: PagesDeps): void {
  /** Undefined where no name is given. E-mail addresses are no names: this does not reveal whose they are. */
  const idOf = async (name: string): Promise<string | undefined> => {
    if (name === '') return undefined;
    return (name.includes('@') ? undefined : (await accounts.findByIdentifier(name))?.id) ?? NO_ONE;
  };
  const entriesOf = async (
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

  plugin.route(pages, { method: 'get', path: LOG, can: openModeration, query: Query })(
    async ({ actor: viewer, query }) => {
      const { page = 1, action = '', actor = '', member = '' } = query;
      const values = { action, actor: actor.trim(), member: member.trim() };
      const { items, hasMore } = await entriesOf(values, page, viewer);
      const address = (number: number): string => {
        const given = new URLSearchParams(
          Object.entries({ ...values, page: number > 1 ? String(number) : '' }).filter(([, value]) => value !== ''),
        );
        return given.size > 0 ? `${LOG}?${given}` : LOG;
      };
      const model = {
        values,
        home: HOME,
        entries: items.map(entryModel),
        actions: ACTIONS.map((name) => ({ value: name, label: `moderation:action.${name}`, current: name === action })),
        pager: pagerOf(page, hasMore ? page + 1 : page, address),
      };
      return view(
        '@moderation/log',
        { name: 'moderation', title: phrase('moderation:log.title'), noindex: true, current: HOME },
        model,
      );
    },
  );
}
