import { InvalidInput, sql, type Cache, type Data } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { reactionsTag, type ReactionType } from 'parley-forum/plugins/reactions';

const KEY = 'reactions.types';
/** The highest position that forms and API clients may set. */
export const MAX_POSITION = 10_000;
/** The lock that serializes writes of the types across all processes. */
const LOCK = 'reactions:types';
/** The types of a new forum. */
const DEFAULT_TYPES: readonly (readonly [slug: string, emoji: string, label: string])[] = [
  ['like', '👍', 'Like'],
  ['love', '❤️', 'Love'],
  ['laugh', '😄', 'Laugh'],
  ['wow', '😮', 'Wow'],
  ['sad', '😢', 'Sad'],
  ['thanks', '🙏', 'Thanks'],
];

/** Whether a type still has the label it has in a new forum. */
export const hasFirstLabel = ({ slug, label }: Pick<ReactionType, 'slug' | 'label'>): boolean =>
  DEFAULT_TYPES.some(([first, , called]) => first === slug && called === label);

/** An administrator's changes to a type; undefined fields keep their value, or get a default. */
export interface TypeChanges {
  readonly slug: string;
  readonly emoji?: string | undefined;
  readonly label?: string | undefined;
  readonly position?: number | undefined;
  readonly enabled?: boolean | undefined;
}

/** An emoji may be written with or without the variation selector for colour. */
const withoutVariation = (emoji: string): string => emoji.replaceAll('\ufe0f', '');

/** The reaction types, cached in memory as one snapshot. */
export class ReactionTypes {
  readonly #data: Data;
  readonly #cache: Cache;
  #snapshot: readonly ReactionType[] = [];

  constructor({ data, cache }: { data: Data; cache: Cache }) {
    this.#data = data;
    this.#cache = cache;
  }

  /** Loads the types; an empty database gets the default ones. */
  async load(): Promise<void> {
    await this.refresh();
    if (this.#snapshot.length > 0) return;
    await this.#data.transaction(async () => {
      await this.#data.lock(LOCK);
      if ((await this.#stored()).length > 0) return;
      for (const [position, [slug, emoji, label]] of DEFAULT_TYPES.entries())
        await this.#write({ slug, emoji, label, position, enabled: true });
    });
    await this.#changed();
  }

  /** Await this before using `all` or `find` for a request. Costs nothing unless another process changed a type. */
  refresh(): Promise<void> | undefined {
    const cached = this.#cache.peek<readonly ReactionType[]>(KEY);
    if (!cached) return this.#read();
    this.#snapshot = cached;
    return undefined;
  }

  all(): readonly ReactionType[] {
    return this.#snapshot;
  }

  /** By slug or emoji. */
  find(slugOrEmoji: string): ReactionType | undefined {
    return this.#snapshot.find(
      ({ slug, emoji }) => slug === slugOrEmoji || withoutVariation(emoji) === withoutVariation(slugOrEmoji),
    );
  }

  /**
   * Creates a type, or changes the one with this slug. Throws 400 naming an invalid field. `done` runs in the
   * transaction of the change.
   */
  async save(
    changes: TypeChanges,
    done?: (type: ReactionType) => Promise<void>,
  ): Promise<{ readonly type: ReactionType; readonly created: boolean }> {
    const saved = await this.#data.transaction(async () => {
      // Changes by administrators are serialized; each one changes only the given fields.
      await this.#data.lock(LOCK);
      const stored = await this.#stored();
      const known = stored.find(({ slug }) => slug === changes.slug);
      const type = withDefaults(changes, known, stored);
      validate(type, stored);
      await this.#write(type);
      await done?.(type);
      return { type, created: !known };
    });
    await this.#changed();
    return saved;
  }

  #write({ slug, emoji, label, position, enabled }: ReactionType): Promise<unknown> {
    return this.#data.all(sql`insert into reaction_type (slug, emoji, label, position, enabled)
        values (${slug}, ${emoji}, ${label}, ${position}, ${enabled})
      on conflict (slug) do update set emoji = excluded.emoji, label = excluded.label, position = excluded.position,
        enabled = excluded.enabled`);
  }

  async #changed(): Promise<void> {
    await this.#cache.purge(reactionsTag, discussionCacheTags.lists, discussionCacheTags.all);
    await this.refresh();
  }

  async #read(): Promise<void> {
    this.#snapshot = await this.#cache.remember(KEY, [reactionsTag], () => this.#stored());
  }

  #stored(): Promise<readonly ReactionType[]> {
    return this.#data.all(
      sql<ReactionType>`select slug, emoji, label, position, enabled from reaction_type order by position, slug`,
    );
  }
}

/** Fields that are not given keep their value, or get a default. */
function withDefaults(
  { slug, emoji = '', label = '', position, enabled }: TypeChanges,
  known: ReactionType | undefined,
  stored: readonly ReactionType[],
): ReactionType {
  return {
    slug,
    emoji: emoji.trim() || (known?.emoji ?? ''),
    label: label.replace(/\s+/g, ' ').trim() || (known?.label ?? ''),
    position:
      position ?? known?.position ?? Math.min(Math.max(-1, ...stored.map((other) => other.position)) + 1, MAX_POSITION),
    enabled: enabled ?? known?.enabled ?? true,
  };
}

/** Throws 400 naming an invalid field. */
function validate({ slug, emoji, label }: ReactionType, stored: readonly ReactionType[]): void {
  const wrong = (field: string, message: string): InvalidInput => new InvalidInput([{ field, message }]);
  if (!/^[a-z0-9]+(?:[-_][a-z0-9]+)*$/.test(slug))
    throw wrong('slug', 'may have lowercase letters and digits with single hyphens between them');
  if (!/^(?=.*[\p{Emoji_Presentation}\p{Extended_Pictographic}\u20e3])\S{1,20}$/u.test(emoji))
    throw wrong('emoji', 'must be an emoji');
  if (label === '') throw wrong('label', 'is required');
  if (stored.some((other) => other.slug !== slug && withoutVariation(other.emoji) === withoutVariation(emoji)))
    throw wrong('emoji', 'is used by another reaction');
}
