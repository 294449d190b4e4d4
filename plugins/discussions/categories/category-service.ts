import { isId, slugOf } from 'parley-forum/plugins/api';
import {
  createId,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
} from 'parley-forum';
import type { Access, Audience, Viewer } from 'parley-forum/plugins/access';
import {
  moderate,
  startDiscussion,
  discussionCacheTags,
  writeReply,
  type Categories,
  type Category,
  type CategoryRights,
} from 'parley-forum/plugins/discussions';
import { ADDED_TO_AUTHORS, ADDED_TO_CATEGORIES } from '../counters/counters.ts';
import { CategoryEntity } from '../entities.ts';

import type { Projections } from '../projections/projections.ts';

const KEY = 'discussions.categories';
/** The largest position that forms and API clients may set. */
export const MAX_POSITION = 10_000;
/** The categories of a new forum. */
const DEFAULT_CATEGORIES: readonly Partial<Category>[] = [
  {
    name: 'Announcements',
    description: 'News from the team.',
    hue: 30,
    icon: 'megaphone',
    create: 'staff',
  },
  { name: 'General', description: 'Talk about anything.', hue: 195, icon: 'chat' },
  { name: 'Help', description: 'Ask questions and get answers.', hue: 150, icon: 'help' },
  {
    name: 'Staff',
    description: 'Only moderators and admins see this.',
    hue: 285,
    icon: 'lock',
    view: 'staff',
    create: 'staff',
    reply: 'staff',
  },
];

export interface CategoryCount {
  readonly discussions: number;
  readonly posts: number;
}
const NOTHING: CategoryCount = { discussions: 0, posts: 0 };

/** The categories stored in the database, held in memory as one snapshot. */
export class CategoryService implements Categories {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #access: Access;
  readonly #clock: Clock;
  readonly #projections: Projections;
  #snapshot: readonly Category[] = [];

  constructor({
    data,
    cache,
    access,
    clock,
    projections,
  }: {
    data: Data;
    cache: Cache;
    access: Access;
    clock: Clock;
    projections: Projections;
  }) {
    this.#data = data;
    this.#cache = cache;
    this.#access = access;
    this.#clock = clock;
    this.#projections = projections;
  }

  /** Loads the categories; creates the default ones in a database without any. */
  async open(): Promise<void> {
    await this.refresh();
    if (this.#snapshot.length > 0) return;
    await this.#data.transaction(async () => {
      const stored = await this.#locked();
      if (stored.length > 0) return;
      for (const [position, category] of DEFAULT_CATEGORIES.entries())
        await this.#write({ ...category, position }, stored);
    });
    await this.#changed();
  }

  refresh(): Promise<void> | undefined {
    const cached = this.#cache.peek<readonly Category[]>(KEY);
    if (!cached) return this.#read();
    this.#snapshot = cached;
    return undefined;
  }

  all(): readonly Category[] {
    return this.#snapshot;
  }

  visible(viewer: Viewer): readonly Category[] {
    return this.#snapshot.filter((category) => this.#access.admits(category.view, viewer));
  }

  find(idOrSlug: string, viewer: Viewer): Category | undefined {
    const found =
      this.#snapshot.find((category) => category.id === idOrSlug) ??
      this.#snapshot.find((category) => category.slug === idOrSlug);
    return found && this.#access.admits(found.view, viewer) ? found : undefined;
  }

  rights(category: Category, viewer: Viewer): CategoryRights {
    const view = this.#access.admits(category.view, viewer);
    const may = (audience: Audience): boolean => view && this.#access.admits(audience, viewer);
    return {
      view,
      create: may(category.create) && this.#access.allows(viewer, startDiscussion),
      reply: may(category.reply) && this.#access.allows(viewer, writeReply),
      moderate: view && this.#access.allows(viewer, moderate),
    };
  }

  /** The numbers of discussions and posts, by category id. */
  async counts(): Promise<(id: string) => CategoryCount> {
    const counts = await this.#cache.remember(
      'discussions.category-counts',
      [discussionCacheTags.lists, discussionCacheTags.categories],
      async () => {
        const rows = await this.#data.all(sql<CategoryCount & { id: string }>`
        select category_id as id, sum(discussions)::int as discussions, sum(posts)::int as posts from category_count
        group by category_id order by category_id`);
        return new Map(rows.map(({ id, discussions, posts }) => [id, { discussions, posts }]));
      },
    );
    return (id) => counts.get(id) ?? NOTHING;
  }

  async save(
    category: Partial<Category>,
    done?: (saved: Category, em: EntityManager) => Promise<void>,
  ): Promise<Category> {
    const written = await this.#data.transaction(async (em) => {
      const saved = await this.#write(category, await this.#locked());
      await done?.(saved, em);
      return saved;
    });
    await this.#changed();
    return written;
  }

  async remove(id: string, moveTo?: string, done?: () => Promise<void>): Promise<void> {
    await this.#data.transaction(async (em) => {
      const stored = await this.#locked();
      if (!stored.some((category) => category.id === id)) throw notFound('There is no such category');
      if (moveTo !== undefined && (moveTo === id || !stored.some((category) => category.id === moveTo)))
        throw wrong('move_to', 'is not another category');
      await this.#data.all(
        sql`select id from category where id = any(${[id, ...(moveTo === undefined ? [] : [moveTo])]}::uuid[])
          order by id for update`,
      );
      if (moveTo === undefined) await this.#requireEmpty(id);
      else {
        await this.#moveAll(id, moveTo);
        await this.#projections.category(em, id, moveTo);
      }
      await em.nativeDelete(CategoryEntity, { id });
      await done?.();
    });
    await this.#changed();
  }

  async #requireEmpty(id: string): Promise<void> {
    const found = await this.#data.one(sql`select 1 from discussion where category_id = ${id} limit 1`);
    if (found) throw wrong('move_to', 'is required: the category has discussions; choose where to move them');
  }

  async #moveAll(id: string, moveTo: string): Promise<void> {
    const now = new Date(this.#clock.now());
    await this.#data
      .all(sql`with d as (select id from discussion where category_id = ${id} order by id for no key update)
      update discussion u set category_id = ${moveTo}, updated_at = ${now} from d where u.id = d.id`);
    await this.#data.all(sql`insert into category_count (category_id, part, discussions, posts)
      select ${moveTo}::uuid, part, discussions, posts from category_count where category_id = ${id} order by part
      ${ADDED_TO_CATEGORIES}`);
    await this.#data.all(
      sql`select from discussion_author where category_id in (${id}, ${moveTo})
        order by category_id, user_id for update`,
    );
    await this.#data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
      select user_id, ${moveTo}::uuid, discussions, posts from discussion_author
      where category_id = ${id} order by user_id
      ${ADDED_TO_AUTHORS}`);
    await this.#data.all(sql`delete from discussion_author where category_id = ${id}`);
  }

  /** The categories as stored, under a lock: no other process can write one until the transaction ends. */
  async #locked(): Promise<readonly Category[]> {
    await this.#data.lock('discussions:categories');
    return this.#stored();
  }

  /** Must be called in a transaction that holds the lock; `stored` are the existing categories. */
  async #write(changes: Partial<Category>, stored: readonly Category[]): Promise<Category> {
    const known = stored.find((category) => category.id === changes.id);
    if (changes.id !== undefined && !known) throw notFound('There is no such category');
    const now = new Date(this.#clock.now());
    const category = withDefaults(changes, known, createId(now.getTime()), stored);
    this.#validate(category, stored);
    await this.#data
      .em()
      .upsert(
        CategoryEntity,
        { ...category, createdAt: now, updatedAt: now },
        { onConflictFields: ['id'], onConflictExcludeFields: ['createdAt'] },
      );
    return category;
  }

  #validate(category: Category, stored: readonly Category[]): void {
    const { id, slug, name, description } = category;
    if (name.length < 1 || name.length > 80) throw wrong('name', 'must have 1 to 80 characters');
    if (description.length > 500) throw wrong('description', 'must have at most 500 characters');
    if (isId(slug) || !/^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(slug))
      throw wrong('slug', 'may contain letters and digits separated by single hyphens');
    if (stored.some((other) => other.slug === slug && other.id !== id))
      throw wrong('slug', 'is taken by another category');
    this.#validateParent(category, stored);
    this.#validateAudiences(category);
  }

  /** There are two levels of categories. */
  #validateParent({ id, parentId }: Category, stored: readonly Category[]): void {
    if (parentId === null) return;
    const parent = stored.find((other) => other.id === parentId);
    if (!parent || parent.id === id || parent.parentId !== null)
      throw wrong('parent_id', 'is not a top-level category');
    if (stored.some((other) => other.parentId === id))
      throw wrong('parent_id', 'cannot be set: the category has subcategories');
  }

  #validateAudiences(category: Category): void {
    for (const field of ['view', 'create', 'reply'] as const) {
      const audience = category[field];
      const unknown = typeof audience === 'string' ? undefined : audience.find((group) => !this.#access.group(group));
      if (unknown !== undefined) throw wrong(field, `contains the group "${unknown}", which does not exist`);
    }
  }

  async #changed(): Promise<void> {
    await this.#cache.purge(discussionCacheTags.categories, discussionCacheTags.lists, discussionCacheTags.all);
    await this.refresh();
  }

  async #read(): Promise<void> {
    this.#snapshot = await this.#cache.remember(KEY, [discussionCacheTags.categories], () => this.#stored());
  }

  #stored(): Promise<readonly Category[]> {
    return this.#data.all(sql<Category>`
      select id, slug, name, description, parent_id as "parentId", hue, icon, position,
        view_audience as view, create_audience as "create", reply_audience as reply
      from category order by position, lower(name), id`);
  }
}

const wrong = (field: string, message: string): InvalidInput => new InvalidInput([{ field, message }]);

/** Omitted values keep the stored value, or get their default. */
function withDefaults(
  changes: Partial<Category>,
  known: Category | undefined,
  id: string,
  others: readonly Category[],
): Category {
  const name = (changes.name ?? known?.name ?? '').replace(/\s+/g, ' ').trim();
  const fresh: Category = {
    id,
    name,
    slug: slugOf(name, 'category'),
    description: '',
    parentId: null,
    hue: 195,
    icon: '',
    view: 'everyone',
    create: 'members',
    reply: 'members',
    position: Math.min(Math.max(-1, ...others.map((other) => other.position)) + 1, MAX_POSITION),
  };
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  return { ...fresh, ...known, ...given, name };
}
