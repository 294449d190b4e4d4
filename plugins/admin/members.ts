import { HttpError, InvalidInput, notFound, Type, type Data, type Http, type Static } from 'parley-forum';
import { mayChange, type Access, type Group, type Viewer } from 'parley-forum/plugins/access';
import { manageAccounts, notBelow, seeAddresses, type Account, type Accounts } from 'parley-forum/plugins/accounts';
import { adminSections, memberColumns } from 'parley-forum/plugins/admin';
import {
  negotiated,
  pagerOf,
  pages,
  phrase,
  redirect,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { by, groupName, queryText, type PanelDeps } from './shared.ts';

const PAGE = 50;
/** Milliseconds a plugin may take to load a column. */
const COLUMN_BUDGET = 1_000;

/** A plugin's value for one member. */
interface Cell {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

/** Whether the viewer may change an account, and whether they see its e-mail address. */
interface Rights {
  readonly changeable: boolean;
  readonly addressed: boolean;
}

/** An account as the list shows it. */
function row({ email, ...account }: Account, cells: readonly Cell[], { changeable, addressed }: Rights): object {
  const disabled = account.status === 'disabled';
  return {
    ...account,
    ...(addressed && { email }),
    changeable,
    display_name: account.displayName,
    cells,
    href: `/u/${encodeURIComponent(account.username)}`,
    disabled,
    next: disabled ? 'active' : 'disabled',
  };
}

/** The group that was selected for this account in a refused form. */
const chosenFor = ({ id }: Account, retry: Retry | undefined): Partial<Account> =>
  id === retry?.body['id'] && typeof retry.body['group_id'] === 'string' ? { groupId: retry.body['group_id'] } : {};

interface Search extends Static<typeof Part> {
  readonly text: string;
  readonly groupId: string;
  readonly page: number;
}
/** The part of the list that API clients ask for instead of a page. */
const Part = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
});

/** `/admin/users`: find members, move them between groups, disable accounts. */
export function addMembers(
  { plugin, panel }: PanelDeps,
  { data, accounts, access, http, web }: { data: Data; accounts: Accounts; access: Access; http: Http; web: Web },
): void {
  plugin.extend(adminSections, { group: 'people' as const, label: 'admin:members', href: '/admin/users' }, -100);
  const can = manageAccounts;
  /** For each account, in order, the values of all columns; a column that fails is left out. */
  const cellsOf = async (listed: readonly Account[], viewer: Viewer): Promise<readonly (readonly Cell[])[]> => {
    const columns = await Promise.all(
      plugin.extensions(memberColumns).map(async ({ plugin: owner, value: { name, label, loadMany } }) => {
        const load = (): Promise<readonly (string | undefined)[]> => loadMany(listed, viewer);
        return { name, label, texts: await plugin.attempt(owner, `column ${name}`, load, COLUMN_BUDGET) };
      }),
    );
    return listed.map((_account, index) =>
      columns.flatMap(({ name, label, texts }) => {
        const text = texts?.[index];
        return text === undefined ? [] : [{ name, label, text }];
      }),
    );
  };
  const seesAddresses = (viewer: Viewer): boolean => access.allows(viewer, seeAddresses);
  const rightsOver = ({ id, groupId }: Account, viewer: Viewer): Rights => ({
    changeable: id !== viewer.id && mayChange(access, viewer, access.group(groupId)),
    addressed: seesAddresses(viewer),
  });
  const plain = (
    { id, username, displayName, email, groupId, status, joinedAt }: Account,
    viewer: Viewer,
    cells: readonly Cell[] = [],
  ): object => ({
    id,
    username,
    display_name: displayName,
    ...(seesAddresses(viewer) && { email }),
    group: { id: groupId, name: access.group(groupId)?.name ?? groupId },
    status,
    joined_at: joinedAt.toISOString(),
    ...(cells.length > 0 && { columns: Object.fromEntries(cells.map(({ name, text }) => [name, text])) }),
  });
  const addressOf =
    ({ text, groupId }: Search) =>
    (page: number): string => {
      const query = new URLSearchParams({
        ...(text !== '' && { q: text }),
        ...(groupId !== '' && { group_id: groupId }),
        ...(page > 1 && { page: String(page) }),
      });
      return query.size > 0 ? `/admin/users?${query}` : '/admin/users';
    };

  const list = async (
    search: Search,
    viewer: Viewer,
    retry?: Retry,
  ): Promise<{ readonly view: View; readonly json: object }> => {
    const { text, groupId, page, limit = PAGE, offset = (page - 1) * PAGE } = search;
    const found = await accounts.search({
      text,
      namesOnly: !seesAddresses(viewer),
      limit,
      offset,
      ...(groupId !== '' && { groupId }),
    });
    const cells = await cellsOf(found.accounts, viewer);
    const groups = access
      .groups()
      .filter((group) => group.level !== 'guest' && mayChange(access, viewer, group))
      .map((group) => ({ value: group.id, label: web.say(groupName(group)) }));
    const model = {
      text,
      groupId,
      total: found.total,
      groups,
      message: retry?.message,
      problems: retry?.problems ?? [],
      members: found.accounts.map((account, index) =>
        row({ ...account, ...chosenFor(account, retry) }, cells[index]!, rightsOver(account, viewer)),
      ),
      pager: pagerOf(page, Math.max(1, Math.ceil(found.total / PAGE)), addressOf(search)),
    };
    const users = found.accounts.map((account, index) => plain(account, viewer, cells[index]));
    const json = { success: true, users, count: users.length, hasMore: offset + users.length < found.total };
    return { view: panel.view('@admin/users', { title: phrase('admin:members') }, model), json };
  };

  plugin.route(pages, { method: 'get', path: '/admin/users', can, query: Part })(async ({ req, actor, query }) => {
    const page = Math.min(10_000, Math.max(1, Math.floor(Number(queryText(req, 'page')) || 1)));
    const search = { text: queryText(req, 'q').slice(0, 100), groupId: queryText(req, 'group_id'), page, ...query };
    const { view, json } = await list(search, actor);
    return negotiated(view, json);
  });

  const memberGroup = (name: string): Group => {
    const group = access.findGroup(name);
    if (!group || group.level === 'guest')
      throw new InvalidInput([{ field: 'group_id', message: 'is not a group that members can be in' }]);
    return group;
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const account = await accounts.find(String(retry.body['id'] ?? ''));
    return (await list({ text: account?.username ?? '', groupId: '', page: 1 }, retry.actor, retry)).view;
  };
  plugin.route(pages, {
    method: 'post',
    path: '/admin/users/save',
    can,
    summary: 'admin:does.save-member',
    options: { rerender, resendButton: true },
    body: Type.Object({
      id: Type.String(),
      group_id: Type.Optional(Type.String()),
      status: Type.Optional(Type.Enum(['active', 'disabled'])),
    }),
  })(async ({ actor, req, body: { id, group_id: groupName, status } }) => {
    const account = await accounts.find(id);
    if (!account) throw notFound('There is no such member');
    const group = groupName === undefined ? undefined : memberGroup(groupName);
    const moved = group !== undefined && group.id !== account.groupId;
    const switched = status !== undefined && status !== account.status;
    // Nobody can lock themselves out, so there is always an administrator left.
    if (id === actor.id && (moved || switched)) {
      throw new InvalidInput([{ field: 'id', message: 'is your own account; ask another administrator to change it' }]);
    }
    await data.transaction(async () => {
      await data.lock('admin:members');
      // If two administrators demote each other at the same moment, the second has lost the permission by now.
      const now = (await accounts.viewers([actor.id])).get(actor.id);
      if (!now || !access.allows(now, can)) throw new HttpError(403, `You may not ${can.label}`);
      for (const concerned of [access.group(account.groupId), ...(moved ? [group] : [])])
        if (!mayChange(access, now, concerned)) throw notBelow(account);
      if (moved) await accounts.setGroup(id, group.id, actor.id, undefined, http.ip(req));
      if (switched) await accounts.setStatus(id, status, actor.id);
    });
    const change = { ...(moved && { from: account.groupId, to: group.id }), ...(switched && { status }) };
    if (moved || switched) plugin.log.info({ ...by(actor), target: id, ...change }, 'a member was changed');
    const saved = (await accounts.find(id)) ?? account;
    const back = addressOf({ text: saved.username, groupId: '', page: 1 })(1);
    return negotiated(redirect(back, { notice: phrase('admin:members.saved', { name: saved.username }) }), {
      success: true,
      user: plain(saved, actor),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/users/end-sessions',
    can,
    summary: 'admin:does.log-out',
    options: { rerender, resendButton: true },
    body: Type.Object({ id: Type.String() }),
  })(async ({ actor, body: { id } }) => {
    const account = await accounts.find(id);
    if (!account) throw notFound('There is no such member');
    if (!mayChange(access, actor, access.group(account.groupId))) throw notBelow(account);
    await accounts.endSessions(id, actor.id);
    const { username } = account;
    const back = addressOf({ text: username, groupId: '', page: 1 })(1);
    return negotiated(redirect(back, { notice: phrase('admin:members.logged-out', { name: username }) }), {
      success: true,
    });
  });
}
