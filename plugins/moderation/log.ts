import { sql, type Data, type PluginHandle, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { acted, type ActionName, type ModerationEntry } from 'parley-forum/plugins/moderation';

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
/** An entry with the names that people have now. */
export interface Line extends EntryRow {
  readonly actor: Author | undefined;
  readonly member: Author | undefined;
}
export interface LogRequest {
  readonly action?: ActionName | undefined;
  readonly actions?: readonly ActionName[] | undefined;
  readonly actorId?: string | undefined;
  readonly userId?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
}
interface Lines {
  readonly items: readonly Line[];
  readonly hasMore: boolean;
}
interface LogServices {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly discussions: Pick<Discussions, 'visible'>;
}

const COLUMNS = sql.raw(
  'id, action, actor_id, user_id, discussion_id, discussion_number, title, post_number, report_id, reason, until, created_at',
);

/** What moderators did, the newest first. */
export class Log {
  readonly #services: LogServices;

  constructor(services: LogServices) {
    this.#services = services;
  }

  /** Joins the transaction under way. The same entry again is no news. */
  async add(entry: ModerationEntry): Promise<void> {
    const { data, plugin } = this.#services;
    const { id, action, discussion, post, reason } = entry;
    await data.transaction(async () => {
      const [added] = await data.all(sql<{ id: string }>`
        insert into moderation_entry (
          id, action, actor_id, user_id, discussion_id, discussion_number, title, post_id, post_number, report_id, reason, until, created_at
        ) values (${id}, ${action}, ${entry.actor_id}, ${entry.user_id ?? null},
          ${discussion?.id ?? null}, ${discussion?.number ?? null}, ${discussion?.title ?? null}, ${post?.id ?? null}, ${post?.number ?? null}, ${entry.report_id ?? null}, ${reason}, ${entry.until ?? null}, ${entry.created_at})
        on conflict (id) do nothing returning id`);
      if (added) await plugin.emit(acted, { entry });
    });
  }

  /** Without what was done where the viewer may not read. */
  async list(request: LogRequest, viewer: Viewer): Promise<Lines> {
    const visible = await this.#services.discussions.visible(viewer);
    return this.#lines(request, sql`(discussion_id is null or discussion_id in (${visible}))`);
  }

  /** What was done to a member, for the member alone. */
  own(userId: string, request: Pick<LogRequest, 'actions' | 'limit' | 'offset'>): Promise<Lines> {
    return this.#lines({ ...request, userId }, sql`true`);
  }

  async #lines(
    { action, actions, actorId, userId, limit, offset = 0 }: LogRequest,
    condition: RawBuilder<unknown>,
  ): Promise<Lines> {
    const { data, accounts } = this.#services;
    const conditions = [condition];
    if (action !== undefined) conditions.push(sql`action = ${action}`);
    if (actions !== undefined) conditions.push(sql`action = any(${actions}::text[])`);
    if (actorId !== undefined) conditions.push(sql`actor_id = ${actorId}`);
    if (userId !== undefined) conditions.push(sql`user_id = ${userId}`);
    const rows = await data.all(sql<EntryRow>`
      select ${COLUMNS} from moderation_entry where ${sql.join(conditions, sql` and `)} order by created_at desc, id desc limit ${limit + 1} offset ${offset}`);
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
