import { sql, type Cache, type Data } from 'parley-forum';
import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Accounts } from 'parley-forum/plugins/accounts';
import type { Subscriptions } from 'parley-forum/ports/subscriptions';

interface RecipientRulesDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly subscriptions: Pick<Subscriptions, 'ignoredBy'> | undefined;
}
const NO_ONE: ReadonlySet<string> = new Set();

/** Whom members may write to: staff to everyone, others to members who allow it and do not ignore them. */
export class RecipientRules {
  readonly #deps: RecipientRulesDeps;

  constructor(deps: RecipientRulesDeps) {
    this.#deps = deps;
  }

  /** Whether only staff may start conversations with the member. */
  async isClosed(userId: string): Promise<boolean> {
    const row = await this.#deps.data.one(
      sql<{ closed: boolean }>`select is_closed as closed from message_choice where user_id = ${userId}`,
    );
    return row?.closed ?? false;
  }

  async close(userId: string, closed: boolean): Promise<void> {
    const { data, cache } = this.#deps;
    await data.transaction(() =>
      data.all(sql`insert into message_choice (user_id, is_closed) values (${userId}, ${closed})
        on conflict (user_id) do update set is_closed = excluded.is_closed`),
    );
    await cache.purge(accountTag(userId));
  }

  /**
   * Those of the members with whom the viewer may not start a conversation. A few statements, however many members
   * there are.
   */
  async refusing(viewer: Viewer, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (isStaff(viewer) || userIds.length === 0) return NO_ONE;
    const { data, accounts } = this.#deps;
    const closed = await data.all(sql<{ id: string }>`select user_id as id from message_choice
      where user_id = any(${userIds}::uuid[]) and is_closed`);
    const ignoring = await this.ignoring(viewer, userIds);
    const viewers = await accounts.viewers(userIds);
    const banned = userIds.filter((id) => viewers.get(id)?.group.level === 'banned');
    return new Set([...closed.map(({ id }) => id), ...ignoring, ...banned]);
  }

  /** Those of the members who ignore the viewer, which does not apply to staff. One statement. */
  async ignoring(viewer: Viewer, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { subscriptions } = this.#deps;
    if (!subscriptions || isStaff(viewer)) return NO_ONE;
    return new Set((await subscriptions.ignoredBy(userIds, [viewer.id!])).keys());
  }
}
