import { InvalidInput, notFound, sql, type Cache, type Data } from 'parley-forum';
import { isId, slugOf } from 'parley-forum/plugins/api';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { tagsTag, type Tag } from 'parley-forum/ports/tags';
import { hueOf, keyOf, nameOf } from './names.ts';

const KEY = 'tags.all';
/** The maximum number of attempts to find a free slug for a name. */
const MAX_SLUG_ATTEMPTS = 50;

/** Never looks like an id, since URLs accept either. */
const slugOfName = (name: string): string => {
  const slug = slugOf(name, 'tag');
  return isId(slug) ? `tag-${slug}` : slug;
};

const SLUG = /^[\p{L}\p{N}\p{M}]+(?:-[\p{L}\p{N}\p{M}]+)*$/u;

/** An administrator's changes to a tag; undefined fields keep their value, or get a default. */
export interface TagChanges {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly slug?: string | undefined;
  readonly hue?: number | undefined;
}

/** Whether new names create tags; if not, tags with `hidden` ids are treated as missing. */
export interface TagRights {
  readonly create: boolean;
  readonly hidden: readonly string[];
}
const wrong = (field: string, message: string): InvalidInput => new InvalidInput([{ field, message }]);
const missingTags = (missing: readonly string[]): InvalidInput =>
  new InvalidInput([
    { field: 'tags', message: `has ${missing.map((word) => `“${word}”`).join(', ')}: choose tags that exist` },
  ]);

/** The tags in the database, cached in memory as one snapshot. */
export class TagService {
  readonly #data: Data;
  readonly #cache: Cache;
  #snapshot: readonly Tag[] = [];

  constructor({ data, cache }: { data: Data; cache: Cache }) {
    this.#data = data;
    this.#cache = cache;
  }

  /** Await this before using `all` for a request. Costs nothing unless another process changed a tag. */
  refresh(): Promise<void> | undefined {
    const cached = this.#cache.peek<readonly Tag[]>(KEY);
    if (!cached) return this.#read();
    this.#snapshot = cached;
    return undefined;
  }

  all(): readonly Tag[] {
    return this.#snapshot;
  }

  /** Finds a tag by id or slug; an id is never another tag's slug. */
  find(idOrSlug: string): Tag | undefined {
    return this.#snapshot.find(({ id }) => id === idOrSlug) ?? this.#snapshot.find(({ slug }) => slug === idOrSlug);
  }

  /**
   * Resolves each word (a name, slug or id) to a tag's id. Must be called in a transaction, which locks these tags
   * until it ends.
   */
  async resolve(words: readonly string[], { create, hidden }: TagRights): Promise<ReadonlyMap<string, string>> {
    let found = await this.#known(words, hidden);
    for (let attempt = 1; found.size < words.length; attempt++) {
      const missing = words.filter((word) => !found.has(word));
      if (!create) throw missingTags(missing);
      if (attempt > MAX_SLUG_ATTEMPTS)
        throw new InvalidInput([{ field: 'tags', message: `has “${missing[0]}”, which is too similar to other tags` }]);
      await this.#create(missing, attempt);
      found = await this.#known(words, hidden);
    }
    return found;
  }

  /** Like `resolve`, but creates no tags: words that would become tags are kept as words. */
  async keep(words: readonly string[], { create, hidden }: TagRights): Promise<readonly string[]> {
    const found = await this.#known(words, hidden);
    const missing = words.filter((word) => !found.has(word));
    if (missing.length > 0 && !create) throw missingTags(missing);
    for (const word of missing) nameOf(word, 'tags');
    return words.map((word) => found.get(word) ?? word);
  }

  /** Here and below, `done` runs in the transaction of the change. */
  async save(changes: TagChanges, done?: (tag: Tag) => Promise<void>): Promise<Tag> {
    const saved = await this.#data
      .transaction(() => this.#write(changes, done))
      .catch((error: unknown) => {
        // An author created a tag with the same name at the same moment.
        throw (error as { code?: string }).code === '23505' ? wrong('name', 'is taken by another tag') : error;
      });
    await this.#changed();
    return saved;
  }

  async #write(changes: TagChanges, done?: (tag: Tag) => Promise<void>): Promise<Tag> {
    // Changes by administrators are serialized; each one changes only the given fields.
    await this.#data.lock('tags:changes');
    const stored = await this.#stored();
    const known = stored.find(({ id }) => id === changes.id);
    if (changes.id !== undefined && !known) throw notFound('There is no such tag');
    const name = nameOf(changes.name ?? known?.name ?? '', 'name');
    const slug = changes.slug ?? known?.slug ?? slugOfName(name);
    validate(
      { name, slug },
      stored.filter((tag) => tag !== known),
    );
    const hue = changes.hue ?? known?.hue ?? hueOf(name);
    const row = await this.#data.one(
      sql<Tag>`${
        known
          ? sql`update tag set name = ${name}, key = ${keyOf(name)}, slug = ${slug}, hue = ${hue} where id = ${known.id}`
          : sql`insert into tag (name, key, slug, hue) values (${name}, ${keyOf(name)}, ${slug}, ${hue})`
      } returning id, slug, name, hue`,
    );
    if (!row) throw notFound('There is no such tag');
    await done?.(row);
    return row;
  }

  /**
   * Removes the tag from its discussions or, with `into` (an id, slug or name), replaces it by that tag, whose id is
   * passed to `done`.
   */
  async remove(
    id: string,
    into: string | undefined,
    done?: (into: string | undefined) => Promise<void>,
  ): Promise<void> {
    const target =
      into === undefined
        ? undefined
        : (this.find(into) ?? this.#snapshot.find(({ name }) => keyOf(name) === keyOf(into)));
    if (into !== undefined && (!target || target.id === id))
      throw new InvalidInput([{ field: 'merge_into', message: 'must be a different, existing tag' }]);
    await this.#data.transaction(async () => {
      const ids = [id, ...(target ? [target.id] : [])].filter(isId);
      // Serializes with transactions that are about to use one of these tags.
      const locked = await this.#data.all(
        sql`select id from tag where id = any(${ids}::uuid[]) order by id for update`,
      );
      if (locked.length < (target ? 2 : 1)) throw notFound('There is no such tag');
      await this.#data.all(
        sql`select from discussion_tag where tag_id = any(${ids}::uuid[]) order by discussion_id, tag_id for update`,
      );
      if (target) await this.#merge(id, target.id);
      await this.#data.all(sql`delete from discussion_tag where tag_id = ${id}`);
      await this.#data.all(sql`delete from tag_count where tag_id = ${id}`);
      await this.#data.all(sql`delete from tag where id = ${id}`);
      await done?.(target?.id);
    });
    await this.#changed();
  }

  async #merge(from: string, into: string): Promise<void> {
    await this.#data.all(sql`
      with moved as (
        insert into discussion_tag (discussion_id, tag_id, position, counted_in)
        select discussion_id, ${into}, position, counted_in from discussion_tag
        where tag_id = ${from} order by discussion_id
        on conflict (discussion_id, tag_id) do nothing returning counted_in
      )
      insert into tag_count (tag_id, category_id, discussions)
      select ${into}::uuid, counted_in, count(*) from moved where counted_in is not null group by counted_in
      order by counted_in
      on conflict (tag_id, category_id) do update set discussions = tag_count.discussions + excluded.discussions`);
  }

  /** A name takes precedence over another tag's slug. */
  async #known(words: readonly string[], hidden: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#data.all(sql<{ id: string; slug: string; key: string }>`select id, slug, key from tag
      where key = any(${words.map(keyOf)}::text[]) or slug = any(${words}::text[])
        or id = any(${words.filter(isId)}::uuid[]) order by id for key share`);
    const found = words.flatMap((word) => {
      const row =
        rows.find(({ id }) => id === word) ??
        rows.find(({ key }) => key === keyOf(word)) ??
        rows.find(({ slug }) => slug === word);
      return row && !hidden.includes(row.id) ? [[word, row.id] as const] : [];
    });
    return new Map(found);
  }

  /** Skips names and slugs that another transaction takes at the same moment; the caller looks them up again. */
  async #create(words: readonly string[], attempt: number): Promise<void> {
    const names = words.map((word) => nameOf(word, 'tags'));
    const slugs = names.map((name) => slugOfName(name) + (attempt > 1 ? `-${attempt}` : ''));
    await this.#data.all(sql`insert into tag (name, key, slug, hue)
      select * from unnest(${names}::text[], ${names.map(keyOf)}::text[], ${slugs}::text[], ${names.map(hueOf)}::int[]) as t (name, key, slug, hue) order by key
      on conflict do nothing`);
    await this.#cache.purge(tagsTag);
  }

  async #changed(): Promise<void> {
    await this.#cache.purge(tagsTag, discussionCacheTags.lists, discussionCacheTags.all);
    await this.refresh();
  }

  async #read(): Promise<void> {
    this.#snapshot = await this.#cache.remember(KEY, [tagsTag], () => this.#stored());
  }

  #stored(): Promise<readonly Tag[]> {
    return this.#data.all(sql<Tag>`select id, slug, name, hue from tag order by key, id`);
  }
}

/** Throws 400 if the name or slug is taken by another tag, or the slug is invalid. */
function validate({ name, slug }: Pick<Tag, 'name' | 'slug'>, others: readonly Tag[]): void {
  if (others.some((other) => keyOf(other.name) === keyOf(name))) throw wrong('name', 'is taken by another tag');
  if (isId(slug) || !SLUG.test(slug)) throw wrong('slug', 'may contain letters and digits separated by single hyphens');
  if (others.some((other) => other.slug === slug)) throw wrong('slug', 'is taken by another tag');
}
