import { createId, HttpError, notFound, sql, type Clock, type Data } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { notBelow, type Account, type Accounts } from 'parley-forum/plugins/accounts';

import type { ActionName } from 'parley-forum/plugins/moderation';
import { OWN_ACTION } from './ban-sync.ts';
import type { ModerationLog } from './moderation-log.ts';

interface SanctionsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find' | 'setGroup'>;
  readonly log: ModerationLog;
}
const DAY = 86_400_000;

/** Warnings, suspensions and bans. A moderator must outrank the member, so nobody can sanction themselves. */
export class Sanctions {
  readonly #deps: SanctionsDeps;

  constructor(deps: SanctionsDeps) {
    this.#deps = deps;
  }

  /** Whether the viewer's group outranks the member's. */
  outranks(viewer: Viewer, account: Account): boolean {
    const { access } = this.#deps;
    const group = access.group(account.groupId);
    return viewer.id !== account.id && group !== undefined && access.outranks(viewer, group);
  }

  banned({ groupId }: Account): boolean {
    return this.#deps.access.group(groupId)?.level === 'banned';
  }

  /** Only notifies the member. */
  warn(userId: string, reason: string, viewer: Viewer): Promise<void> {
    return this.#act('member.warned', userId, { reason }, viewer, () => Promise.resolve());
  }

  /** Replaces a running suspension. */
  suspend(
    userId: string,
    { days, reason }: { readonly days: number; readonly reason: string },
    viewer: Viewer,
  ): Promise<void> {
    const { access, clock } = this.#deps;
    const until = new Date(clock.now() + days * DAY);
    return this.#act('member.suspended', userId, { reason, until }, viewer, async (account) => {
      if (this.banned(account))
        throw new HttpError(409, `${account.username} is banned, which goes beyond a suspension`);
      await access.suspend({ userId, until, reason: reason.trim() });
    });
  }

  release(userId: string, reason: string, viewer: Viewer): Promise<void> {
    const { access } = this.#deps;
    return this.#act('member.released', userId, { reason }, viewer, async ({ username }) => {
      if (!access.suspension(userId)) throw new HttpError(409, `${username} is no longer suspended`);
      await access.release(userId);
    });
  }

  /** Moves the member to the banned group and ends all of their sessions. */
  ban(userId: string, reason: string, viewer: Viewer): Promise<void> {
    const { data, access, accounts } = this.#deps;
    return this.#act('member.banned', userId, { reason }, viewer, async (account) => {
      if (this.banned(account)) throw new HttpError(409, `${account.username} is already banned`);
      await data.all(sql`insert into moderation_ban (user_id, group_id) values (${userId}, ${account.groupId})
        on conflict (user_id) do update set group_id = excluded.group_id`);
      await access.release(userId);
      await accounts.setGroup(userId, access.groupOf('banned').id, viewer.id, OWN_ACTION);
    });
  }

  /** Moves the member back to their previous group if the viewer outranks it, otherwise to the ordinary members. */
  unban(userId: string, reason: string, viewer: Viewer): Promise<void> {
    const { data, access, accounts } = this.#deps;
    return this.#act('member.unbanned', userId, { reason }, viewer, async (account) => {
      if (!this.banned(account)) throw new HttpError(409, `${account.username} is no longer banned`);
      const before = await data.one(
        sql<{ groupId: string }>`delete from moderation_ban where user_id = ${userId} returning group_id as "groupId"`,
      );
      const group = access.group(before?.groupId ?? '');
      await accounts.setGroup(
        userId,
        group && access.outranks(viewer, group) ? group.id : access.groupOf('member').id,
        viewer.id,
        OWN_ACTION,
      );
    });
  }

  async #act(
    action: ActionName,
    userId: string,
    { reason, until }: { readonly reason: string; readonly until?: Date },
    viewer: Viewer,
    work: (account: Account) => Promise<void>,
  ): Promise<void> {
    const { data, clock, accounts, log } = this.#deps;
    await data.transaction(async () => {
      const account = await accounts.find(userId);
      if (!account) throw notFound('There is no such member');
      if (viewer.id === userId) throw new HttpError(403, 'You can’t moderate yourself');
      if (!this.outranks(viewer, account)) throw notBelow(account);
      await work(account);
      const now = clock.now();
      await log.add({
        id: createId(now),
        action,
        actor_id: viewer.id ?? '',
        user_id: userId,
        reason: reason.trim(),
        until: until?.toISOString(),
        created_at: new Date(now).toISOString(),
      });
    });
  }
}
