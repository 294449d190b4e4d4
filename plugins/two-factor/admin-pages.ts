import { InvalidInput, notFound, type PluginHandle, Type } from 'parley-forum';
import { adminMember, memberColumns } from 'parley-forum/plugins/admin';
import { mayChange, type Access } from 'parley-forum/plugins/access';
import { manageAccounts, notBelow, type Accounts } from 'parley-forum/plugins/accounts';
import { fill, negotiated, pages, phrase, redirect, slotFillings, type Web } from 'parley-forum/plugins/web';
import type { TwoFactorService } from './service.ts';

export interface AdminPagesDeps {
  readonly service: TwoFactorService;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly web: Web;
}

/**
 * Adds to the members in the admin panel a button that resets the second factor of those who have one, in case they
 * lose it.
 */
export function addAdminPages(plugin: PluginHandle, { service, access, accounts, web }: AdminPagesDeps): void {
  plugin.extend(
    slotFillings,
    fill(adminMember, async (members, viewer) => {
      const on = await service.enabledAmong(members.map(({ id }) => id));
      return Promise.all(
        members.map(async ({ id, username }) =>
          on.has(id) ? web.fragment(viewer, '@two-factor/reset', { id, username }) : undefined,
        ),
      );
    }),
  );

  plugin.extend(memberColumns, {
    name: 'two_factor',
    label: 'two-factor:column',
    loadMany: async (members) => {
      const on = await service.enabledAmong(members.map(({ id }) => id));
      return members.map(({ id }) => web.say(phrase(on.has(id) ? 'two-factor:column.on' : 'two-factor:column.off')));
    },
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/users/reset-two-factor',
    can: manageAccounts,
    summary: 'two-factor:does.reset',
    body: Type.Object({ id: Type.String() }),
  })(async ({ actor, body: { id } }) => {
    const account = await accounts.find(id);
    if (!account) throw notFound('There is no such member');
    // Somebody with a stolen administrator session must not be able to remove its owner's second factor for good.
    if (id === actor.id)
      throw new InvalidInput([{ field: 'id', message: 'is your own account; switch it off in your settings' }]);
    if (!mayChange(access, actor, access.group(account.groupId))) throw notBelow(account);
    if (!(await service.reset(id, actor.id))) throw notFound(`${account.username} has no second factor`);
    const notice = phrase('two-factor:reset.notice', { name: account.username });
    return negotiated(redirect(`/admin/users?q=${encodeURIComponent(account.username)}`, { notice }), {
      success: true,
    });
  });
}
