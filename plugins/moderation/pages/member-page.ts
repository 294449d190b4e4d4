import { HttpError, notFound, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { nameOf, seeAddresses, type Account, type IpAddresses } from 'parley-forum/plugins/accounts';
import { openModeration, sanctionMembers } from 'parley-forum/plugins/moderation';
import { handleReports } from 'parley-forum/plugins/reports';
import { formErrors, pages, phrase, redirect, view, type Retry, type View } from 'parley-forum/plugins/web';
import { HOME, entryModel, LOG, memberPath, type PagesDeps } from './shared.ts';

/** The lengths of a suspension to choose from, in days. */
const DAYS = [1, 3, 7, 14, 30, 90, 365] as const;
/** The maximum number of reports and log entries shown. */
const MAX_SHOWN = 20;
const Reason = Type.String({ pattern: '\\S', maxLength: 500 });
const SanctionForm = Type.Object({ reason: Reason, days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })) });
const ACTIONS = ['warn', 'suspend', 'release', 'ban', 'unban'] as const;

/** /mod/members/{name}: what moderators know about a member, and what they can do. */
export function memberPages({ plugin, access, accounts, reports, log, sanctions, memberNotes }: PagesDeps): void {
  const find = async ({
    params,
  }: {
    readonly params: Readonly<Record<string, string>>;
  }): Promise<Account | undefined> => {
    const name = params['username'] ?? '';
    return name.includes('@') ? undefined : accounts.findByIdentifier(name);
  };

  /** The action URL of each form on the page; falsy if the viewer may not use it or it would change nothing. */
  const formsFor = (account: Account, viewer: Viewer): object => {
    const to = (action: string): string => `${memberPath(account.username)}/${action}`;
    const may = access.allows(viewer, sanctionMembers) && sanctions.outranks(viewer, account);
    const banned = sanctions.banned(account);
    return {
      warn: may && to('warn'),
      suspend: may && !banned && to('suspend'),
      release: may && access.suspension(account.id) && to('release'),
      ban: may && !banned && to('ban'),
      unban: may && banned && to('unban'),
      addNote: to('notes'),
      showAddresses: access.allows(viewer, seeAddresses) && to('addresses'),
    };
  };

  const shown = async (
    account: Account,
    viewer: Viewer,
    { retry, addresses }: { retry?: Retry; addresses?: IpAddresses } = {},
  ): Promise<View> => {
    const { id, username } = account;
    const [history, noted, reported] = await Promise.all([
      log.list({ userId: id, limit: MAX_SHOWN }, viewer),
      memberNotes.about(id),
      access.allows(viewer, handleReports) ? reports?.about(id, viewer, MAX_SHOWN) : undefined,
    ]);
    const model = {
      member: {
        id,
        username,
        display_name: account.displayName,
        avatar_url: account.avatarUrl,
        joined_at: account.joinedAt,
        group: access.group(account.groupId),
      },
      home: HOME,
      profile: `/u/${encodeURIComponent(username)}`,
      suspension: access.suspension(id),
      banned: sanctions.banned(account),
      disabled: account.status === 'disabled',
      values: retry?.body ?? {},
      ...formErrors(retry),
      ...formsFor(account, viewer),
      days: DAYS,
      notes: noted,
      history: history.items.map(entryModel),
      more: history.hasMore && `${LOG}?member=${encodeURIComponent(username)}`,
      reports: reported?.map(({ id: report, reason, status, created_at: at }) => ({
        reason,
        status,
        at,
        href: `/mod/reports/${report}`,
      })),
      addresses,
    };
    return view(
      '@moderation/member',
      {
        name: 'moderation',
        title: phrase('moderation:member.title', { name: nameOf({ username, display_name: account.displayName }) }),
        noindex: true,
        current: HOME,
      },
      model,
    );
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const account = await find(retry);
    if (!account || !access.allows(retry.actor, openModeration)) throw notFound();
    return shown(account, retry.actor, { retry });
  };
  const path = '/mod/members/:username';
  plugin.route(pages, { method: 'get', path, can: openModeration, load: find })(({ actor, target }) =>
    shown(target, actor),
  );

  const sanction = (
    { id }: Account,
    action: (typeof ACTIONS)[number],
    { reason, days }: Static<typeof SanctionForm>,
    viewer: Viewer,
  ): Promise<void> => {
    if (action !== 'suspend') return sanctions[action](id, reason, viewer);
    if (days === undefined) throw new HttpError(400, 'Enter the number of days');
    return sanctions.suspend(id, { days, reason }, viewer);
  };
  for (const action of ACTIONS) {
    plugin.route(pages, {
      method: 'post',
      path: `${path}/${action}`,
      can: sanctionMembers,
      options: { rerender },
      load: find,
      body: SanctionForm,
    })(async ({ actor, target, body }) => {
      await sanction(target, action, body, actor);
      return redirect(memberPath(target.username), { notice: phrase(`moderation:done.${action}`) });
    });
  }

  plugin.route(pages, {
    method: 'post',
    path: `${path}/notes`,
    can: openModeration,
    options: { rerender },
    load: find,
    body: Type.Object({ content: Type.String({ pattern: '\\S', maxLength: 5_000 }) }),
  })(async ({ actor, target, body: { content } }) => {
    await memberNotes.add(target.id, content, actor);
    return redirect(memberPath(target.username), { notice: phrase('moderation:done.noted') });
  });

  // Viewing the addresses is recorded in the audit log, so it requires a form.
  plugin.route(pages, { method: 'post', path: `${path}/addresses`, can: seeAddresses, load: find })(
    async ({ actor, target }) => {
      const addresses = await accounts.ipAddresses(target.id, actor.id);
      return shown(target, actor, addresses && { addresses });
    },
  );
}
