import { sql, type Clock, type Data, type EntityManager, type PluginHandle, type RawBuilder } from '#core';
import { mirrors, type MirroredPost } from '#plugins/discussions';

/** Milliseconds that a mark reaches back: other processes may have written without a mirror for a moment, and their clocks may differ. */
const MARGIN = 60_000;

interface Whole {
  readonly id: string;
  readonly title: string;
  readonly categoryId: string;
  readonly deletedAt?: Date | null | undefined;
}
interface Single {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  readonly content: string;
  readonly html: string;
  readonly createdAt: Date;
  readonly deletedAt?: Date | null | undefined;
}

/** Tells every mirror what was written, inside the transaction that writes it. Without a mirror nothing is asked of the database. */
export class Mirroring {
  readonly #plugin: PluginHandle;
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ plugin, data, clock }: { plugin: PluginHandle; data: Data; clock: Clock }) {
    this.#plugin = plugin;
    this.#data = data;
    this.#clock = clock;
  }

  async posts(em: EntityManager, discussion: Whole, posts: readonly Single[]): Promise<void> {
    await this.imported(em, () => posts.map((post) => copyOf(discussion, post)));
  }

  /** As `posts`, of several discussions; `copies` is called only where there is a mirror. */
  async imported(em: EntityManager, copies: () => readonly MirroredPost[]): Promise<void> {
    const found = this.#plugin.extensions(mirrors);
    if (found.length === 0) return;
    const posts = copies();
    for (const { value } of found) await value.posts(em, posts);
  }

  async discussion(em: EntityManager, { id, title, categoryId, deletedAt }: Whole): Promise<void> {
    for (const { value } of this.#plugin.extensions(mirrors)) await value.discussion(em, { id, title, categoryId, visible: !deletedAt });
  }

  async category(em: EntityManager, from: string, to: string): Promise<void> {
    for (const { value } of this.#plugin.extensions(mirrors)) await value.category(em, from, to);
  }

  /** The newest discussion's number and the time. */
  async mark(): Promise<string> {
    const row = await this.#data.one(sql<{ number: number }>`select coalesce(max(number), 0) as number from discussion`);
    return `${row!.number} ${new Date(this.#clock.now() - MARGIN).toISOString()}`;
  }

  async mirrored(after: string | undefined, limit: number, since: string | undefined): Promise<readonly MirroredPost[]> {
    // Two statements: what the first had to wait for is seen by the second.
    const page = await this.#data.all(sql<{ id: string }>`with page as (
        select p.id, p.discussion_id from post p join discussion d on d.id = p.discussion_id
        where ${after === undefined ? sql`true` : sql`p.id > ${after}`} and ${changedSince(since)} order by p.id limit ${limit}
      ) select page.id from page join discussion d on d.id = page.discussion_id order by d.id for share of d`);
    if (page.length === 0) return [];
    return this.#data.all(sql<MirroredPost>`
      select p.id, p.number, p.discussion_id as "discussionId", d.category_id as "categoryId", p.author_id as "authorId", d.title, p.content, p.html,
        p.created_at as "createdAt", p.deleted_at is not null as removed, p.deleted_at is null and d.deleted_at is null as visible
      from post p join discussion d on d.id = p.discussion_id where p.id = any(${page.map(({ id }) => id)}::uuid[]) order by p.id`);
  }
}

/** Discussions that came later, old ones by an import too, and those that anything has happened to. */
function changedSince(mark: string | undefined): RawBuilder<unknown> {
  const [number, time] = mark?.split(' ') ?? [];
  return number === undefined || time === undefined ? sql`true` : sql`(d.number > ${Number(number)} or d.updated_at >= ${new Date(time)})`;
}

const copyOf = ({ id: discussionId, categoryId, title, deletedAt: gone }: Whole, { id, number, authorId, content, html, createdAt, deletedAt }: Single): MirroredPost =>
  ({ id, number, discussionId, categoryId, authorId, title, content, html, createdAt, removed: Boolean(deletedAt), visible: !deletedAt && !gone });
