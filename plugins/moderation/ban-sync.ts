import { commandLine, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { groupChanged, type Accounts } from 'parley-forum/plugins/accounts';
import type { ModerationLog } from './moderation-log.ts';

/** `partOf` of the group changes that a ban from here makes: those are in the log already. */
export const OWN_ACTION = 'moderation';

interface BanSyncDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly log: ModerationLog;
}

/**
 * A member who is moved into the group of the banned elsewhere, such as in the admin panel, is banned as from here, and
 * unbanned in the same way.
 */
export function syncBans(plugin: PluginHandle, { data, clock, access, accounts, log }: BanSyncDeps): void {
  const isBanned = (groupId: string): boolean => access.group(groupId)?.level === 'banned';

  plugin.on(
    groupChanged,
    async ({ id: userId, from, to, by, partOf }, { id }) => {
      await access.refresh();
      if (partOf === OWN_ACTION || isBanned(from) === isBanned(to)) return;
      await data.transaction(async () => {
        const current = (await accounts.find(userId))?.groupId === to;
        if (current && isBanned(to)) {
          await data.all(sql`insert into moderation_ban (user_id, group_id) values (${userId}, ${from})
          on conflict (user_id) do update set group_id = excluded.group_id`);
        }
        if (current && isBanned(from)) await data.all(sql`delete from moderation_ban where user_id = ${userId}`);
        // A line of the log has an actor; what was done by a command is in the audit log alone.
        if (by === undefined || by === commandLine) return;
        const action = isBanned(to) ? 'member.banned' : 'member.unbanned';
        await log.add({
          id,
          action,
          actor_id: by,
          user_id: userId,
          reason: '',
          created_at: new Date(clock.now()).toISOString(),
        });
      });
      // Of one member in the order in which it happened.
    },
    { durable: { key: ({ id }) => id, perKey: 1 } },
  );
}
