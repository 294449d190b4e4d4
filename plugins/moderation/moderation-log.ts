import { sql, type Data, type PluginHandle, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { moderationActed, type ActionName, type ModerationEntry } from 'parley-forum/plugins/moderation';

interface EntryRow {
  readonly id: string;
  readonly action: ActionName;
  readonly actor_id: string;
  readonly user_id: string | null;
  readonly discussion_id: string | null;
  readonly discussion_number: number | null;
  readonly title: string | null;
  readonly post_number: number | null;
  readonly report_id: string | null;
  readonly reason: string;
  readonly until: Date | null;
  readonly created_at: Date;
}
/** An entry with the current names of its members. */
export interface NamedEntry extends EntryRow {
  readonly actor: Author | undefined;
  readonly member: Author | undefined;
}
export interface LogFilters {
  readonly action?: ActionName | undefined;
  readonly actions?: readonly ActionName[] | undefined;
  readonly actorId?: string | undefined;
  readonly userId?: string | undefined;
}
interface LogQuery extends LogFilters {
  readonly limit: number;
  readonly offset?: number | undefined;
  /** Only entries older than this one. */
  readonly before?: Pick<EntryRow, 'id' | 'created_at'> | undefined;
}
interface EntryPage {
  readonly items: readonly NamedEntry[];
  readonly hasMore: boolean;
}
/** How often a report about a member was resolved, and they were warned, suspended and banned. */
export interface Past {
  readonly upheld: number;
  readonly warned: number;
  readonly suspended: number;
  readonly banned: number;
}
interface ModerationLogDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly discussions: Pick<Discussions, 'visible'>;
}

const AGAINST_MEMBERS: readonly ActionName[] = [
  'report.resolved',
  'message-report.resolved',
  'member.warned',
  'member.suspended',
  'member.banned',
];
/** The number of entries per query when the whole log is read. */
const PART = 500;
const COLUMNS = sql.raw(
  'id, action, actor_id, user_id, discussion_id, discussion_number, title, post_number, report_id, reason, until, created_at',
);

/** The actions of moderators, newest first. */
export class ModerationLog {
  readonly #deps: ModerationLogDeps;

  constructor(deps: ModerationLogDeps) {
    this.#deps = deps;
  }

  /** Joins the current transaction. An entry that already exists is ignored. */
  async add(entry: ModerationEntry): Promise<void> {
    const { data, plugin } = this.#deps;
    const { id, action, discussion, post, reason } = entry;
    await data.transaction(async () => {
      const [added] = await data.all(sql<{ id: string }>`
        insert into moderation_entry (
          id, action, actor_id, user_id, discussion_id, discussion_number, title, post_id, post_number, report_id,
          reason, until, created_at
        ) values (${id}, ${action}, ${entry.actor_id}, ${entry.user_id ?? null},
          ${discussion?.id ?? null}, ${discussion?.number ?? null}, ${discussion?.title ?? null}, ${post?.id ?? null},
            ${post?.number ?? null}, ${entry.report_id ?? null}, ${reason}, ${entry.until ?? null}, ${entry.created_at})
        on conflict (id) do nothing returning id`);
      if (added) await plugin.emit(moderationActed, { entry });
    });
  }

  /** Leaves out entries about discussions that the viewer may not read. */
  async list(request: LogQuery, viewer: Viewer): Promise<EntryPage> {
    const visible = await this.#deps.discussions.visible(viewer);
    return this.#entries(request, sql`(discussion_id is null or discussion_id in (${visible}))`);
  }

  /** Like `list`, but streams all entries while holding only one batch in memory. */
  async *all(filters: LogFilters, viewer: Viewer): AsyncGenerator<NamedEntry, void> {
    for (let before: NamedEntry | undefined, more = true; more;) {
      const { items, hasMore } = await this.list({ ...filters, limit: PART, before }, viewer);
      yield* items;
      [before, more] = [items.at(-1), hasMore];
    }
  }

  /** What was done to a member; for that member only. */
  aboutMember(userId: string, request: Pick<LogQuery, 'actions' | 'limit' | 'offset'>): Promise<EntryPage> {
    return this.#entries({ ...request, userId }, sql`true`);
  }

  /**
   * What is in the log against these members, leaving out entries about discussions that the viewer may not read. One
   * statement; members with nothing against them are missing.
   */
  async pasts(userIds: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, Past>> {
    const { data, discussions } = this.#deps;
    const count = (...actions: readonly ActionName[]) =>
      sql`(count(*) filter (where action = any(${actions}::text[])))::int`;
    const rows = await data.all(sql<Past & { readonly userId: string }>`
      select user_id as "userId", ${count('report.resolved', 'message-report.resolved')} as upheld,
        ${count('member.warned')} as warned, ${count('member.suspended')} as suspended,
        ${count('member.banned')} as banned
      from moderation_entry
      where user_id = any(${userIds}::uuid[]) and action = any(${AGAINST_MEMBERS}::text[])
        and (discussion_id is null or discussion_id in (${await discussions.visible(viewer)}))
      group by user_id order by user_id`);
    return new Map(rows.map(({ userId, ...past }) => [userId, past]));
  }

  async #entries(
    { action, actions, actorId, userId, limit, offset = 0, before }: LogQuery,
    condition: RawBuilder<unknown>,
  ): Promise<EntryPage> {
    const { data, accounts } = this.#deps;
    const conditions = [condition];
    if (action !== undefined) conditions.push(sql`action = ${action}`);
    if (actions !== undefined) conditions.push(sql`action = any(${actions}::text[])`);
    if (actorId !== undefined) conditions.push(sql`actor_id = ${actorId}`);
    if (userId !== undefined) conditions.push(sql`user_id = ${userId}`);
    if (before !== undefined) conditions.push(sql`(created_at, id) < (${before.created_at}, ${before.id}::uuid)`);
    const rows = await data.all(sql<EntryRow>`
      select ${COLUMNS} from moderation_entry
        where ${sql.join(conditions, sql` and `)} order by created_at desc, id desc
          limit ${limit + 1} offset ${offset}`);
    const shown = rows.slice(0, limit);
    const people = await accounts.authors([
      ...new Set(shown.flatMap(({ actor_id, user_id }) => [actor_id, user_id ?? actor_id])),
    ]);
    return {
      items: shown.map((row) => ({ ...row, actor: people.get(row.actor_id), member: people.get(row.user_id ?? '') })),
      hasMore: rows.length > limit,
    };
  }
}
