import { commandLine, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { groupChanged, type Accounts } from 'parley-forum/plugins/accounts';
import type { ModerationLog } from './moderation-log.ts';

/** The `partOf` of group changes caused by a ban or unban here: those are already in the log. */
export const OWN_ACTION = 'moderation';

interface BanSyncDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly log: ModerationLog;
}

/**
 * A member who is moved into the banned group elsewhere, such as in the admin panel, is treated as banned here, and the
 * other way round for unbanning.
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
        // A log entry needs an actor; changes made by a command appear in the audit log only.
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
      // Changes of one member are processed in the order in which they happened.
    },
    { durable: { key: ({ id }) => id, perKey: 1 } },
  );
}
