import { InvalidInput, sql, Type, type Cache, type Data } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { discussionCacheTags, type Field, type PostProjection } from 'parley-forum/plugins/discussions';
import { createTags, TagReference } from 'parley-forum/plugins/tags';
import { tagsTag } from 'parley-forum/ports/tags';
import type { TagCounts } from './tag-counts.ts';
import { fittedNamesIn, keyOf, namesIn } from './names.ts';
import type { TagRights, TagService } from './tag-service.ts';

interface AssignmentsDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly access: Access;
  readonly tags: TagService;
  readonly counts: TagCounts;
  /** The maximum number of tags per discussion. */
  max(): number;
}
type Assigned = TagReference & { readonly discussionId: string };

/** The names separated by commas, as in a form. */
export const listed = (tags: readonly TagReference[]): string => tags.map(({ name }) => name).join(', ');

/** The tags assigned to discussions. */
export class Assignments {
  readonly #deps: AssignmentsDeps;

  constructor(deps: AssignmentsDeps) {
    this.#deps = deps;
  }

  /**
   * The tags of each discussion, in the order in which they were chosen. Cached until one of these discussions changes.
   */
  async of(discussionIds: readonly string[]): Promise<readonly (readonly TagReference[])[]> {
    const { cache, data } = this.#deps;
    return cache.remember(
      `tags.of:${discussionIds.join()}`,
      [tagsTag, ...discussionIds.map(discussionCacheTags.discussion)],
      async () => {
        const rows = await data.all(sql<Assigned>`select a.discussion_id as "discussionId", t.id, t.slug, t.name
        from discussion_tag a join tag t on t.id = a.tag_id where a.discussion_id = any(${discussionIds}::uuid[])
        order by a.discussion_id, a.position, t.id`);
        const found = Map.groupBy(rows, ({ discussionId }) => discussionId);
        return discussionIds.map((id) =>
          (found.get(id) ?? []).map(({ id: tagId, slug, name }) => ({ id: tagId, slug, name })),
        );
      },
    );
  }

  /** The `tags` field of the discussion record. */
  field(): Field {
    const { access, counts, max, tags } = this.#deps;
    const wordsOf = (value: unknown): readonly string[] => {
      const words = namesIn(value);
      if (words.length > max()) throw new InvalidInput([{ field: 'tags', message: `must be at most ${max()} tags` }]);
      return words;
    };
    const rights = async (viewer: Viewer): Promise<TagRights> => {
      const create = access.allows(viewer, createTags);
      return { create, hidden: create ? [] : await counts.hiddenFrom(viewer) };
    };
    return {
      name: 'tags',
      result: Type.Array(TagReference),
      body: Type.Union([Type.Array(Type.String(), { maxItems: 100 }), Type.String()], {
        description:
          'Names, slugs or ids; forms may send one comma-separated string. New names are created for members who may',
      }),
      loadMany: (ids) => this.of(ids),
      formValue: (tags) => listed(tags as readonly TagReference[]),
      withEntry: (value, change) => {
        const tags = value as readonly TagReference[];
        const word = 'add' in change ? change.add : change.remove;
        const others = tags.filter(
          ({ id, slug, name }) => id !== word && slug !== word && keyOf(name) !== keyOf(word.trim()),
        );
        if (others.length < tags.length === 'add' in change) return undefined;
        return [...others.map(({ id }) => id), ...('add' in change ? [word] : [])];
      },
      keep: async (value, viewer) => tags.keep(wordsOf(value), await rights(viewer)),
      save: async (_em, id, value, viewer) => {
        await this.#assign(new Map([[id, wordsOf(value)]]), await rights(viewer));
      },
      saveMany: (_em, values) =>
        this.#assign(new Map([...values].map(([id, value]) => [id, fittedNamesIn(value)])), {
          create: true,
          hidden: [],
        }),
    };
  }

  /** Keeps the counts up to date with every change; fields are already saved by then. */
  projection(): PostProjection {
    const { counts } = this.#deps;
    return {
      // A discussion can continue without its first post.
      posts: (_em, posts) => {
        const first = posts.filter(({ number }) => number === 1);
        return counts.count(
          first.map(({ discussionId, categoryId, discussionRemoved }) => ({
            id: discussionId,
            categoryId: discussionRemoved ? undefined : categoryId,
          })),
        );
      },
      discussion: (_em, { id, categoryId, visible }) =>
        counts.count([{ id, categoryId: visible ? categoryId : undefined }]),
      category: (_em, from, to) => counts.move(from, to),
    };
  }

  /** Tags that were removed lose their position; `count` deletes them, in the same transaction. */
  async #assign(wanted: ReadonlyMap<string, readonly string[]>, rights: TagRights): Promise<void> {
    const { data, tags } = this.#deps;
    const ids = await tags.resolve([...new Set([...wanted.values()].flat())], rights);
    const rows = [...wanted].flatMap(([discussion, words]) =>
      [...new Set(words.map((word) => ids.get(word)!))].map((tag, position) => ({ discussion, tag, position })),
    );
    const of = <T>(read: (row: (typeof rows)[number]) => T): T[] => rows.map(read);
    await data.all(sql`
      with wanted as (
        select * from unnest(${of(({ discussion }) => discussion)}::uuid[], ${of(({ tag }) => tag)}::uuid[], ${of(({ position }) => position)}::int[])
          as w (discussion_id, tag_id, position)
      ), unwanted as (
        update discussion_tag a set position = null where a.discussion_id = any(${[...wanted.keys()]}::uuid[])
          and not exists (select from wanted w where w.discussion_id = a.discussion_id and w.tag_id = a.tag_id)
      )
      insert into discussion_tag (discussion_id, tag_id, position) select * from wanted order by discussion_id, position
      on conflict (discussion_id, tag_id) do update set position = excluded.position`);
  }
}
