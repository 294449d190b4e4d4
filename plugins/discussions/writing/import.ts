import { slugOf } from 'parley-forum/plugins/api';
import {
  createId,
  InvalidInput,
  sql,
  type Cache,
  type Data,
  type EntityManager,
  type ExtensionPoint,
  type PluginHandle,
} from 'parley-forum';
import {
  discussionFields,
  postFields,
  discussionCacheTags,
  type Field,
  type ImportedDiscussion,
  type ImportListener,
  type Importer,
} from 'parley-forum/plugins/discussions';
import { MAX_HTML_BYTES, type Markdown } from 'parley-forum/plugins/markdown';
import { ADDED_TO_AUTHORS, addToCategoryCounts } from '../counters/counters.ts';
import { checked, checkedValue } from './drafts.ts';

import type { Projections } from '../projections/projections.ts';

/**
 * Number of posts in one batch: large enough to make the fixed cost of a statement negligible, small enough for memory
 * and timeouts. The embedded database blocks everything else in the process during a statement.
 */
const [BATCH, EMBEDDED_BATCH] = [5_000, 250];

interface Tally {
  discussions: number;
  posts: number;
}
interface Prepared {
  readonly id: string;
  readonly source: ImportedDiscussion;
  readonly postIds: readonly string[];
  readonly participants: ReadonlyMap<string, number>;
}

/** Writes many discussions with few statements, passing each column as one array. */
export class BatchImporter implements Importer {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #projections: Projections;
  readonly #plugin: PluginHandle;
  readonly #markdown: Markdown;
  readonly #batch: number;

  constructor({
    data,
    cache,
    projections,
    plugin,
    markdown,
  }: {
    data: Data;
    cache: Cache;
    projections: Projections;
    plugin: PluginHandle;
    markdown: Markdown;
  }) {
    this.#data = data;
    this.#cache = cache;
    this.#projections = projections;
    this.#plugin = plugin;
    this.#markdown = markdown;
    this.#batch = data.embedded ? EMBEDDED_BATCH : BATCH;
  }

  acceptTitle(title: string): string {
    return checked({ title }).title!;
  }

  async acceptContent(given: string): Promise<{ readonly content: string; readonly html: string }> {
    const content = checked({ content: given }).content!;
    return { content, html: await this.#markdown.render(content) };
  }

  async importDiscussions(
    discussions: Iterable<ImportedDiscussion> | AsyncIterable<ImportedDiscussion>,
    { written, progress }: ImportListener = {},
  ): Promise<Tally> {
    const total: Tally = { discussions: 0, posts: 0 };
    let batch: Prepared[] = [];
    let size = 0;
    const send = async (): Promise<void> => {
      await this.#data.transaction(async (em) => {
        await this.#write(em, batch);
        await written?.(batch);
      });
      total.discussions += batch.length;
      total.posts += size;
      progress?.(total.discussions, total.posts);
      [batch, size] = [[], 0];
    };
    for await (const discussion of discussions) {
      if (discussion.posts.length === 0) continue;
      batch.push(prepare(discussion));
      size += discussion.posts.length;
      if (size >= this.#batch) await send();
    }
    if (batch.length > 0) await send();
    // Until autovacuum runs, the planner has no statistics about the imported rows.
    if (total.posts > 0) await this.#data.all(sql`analyze`);
    await this.#cache.purge(discussionCacheTags.lists, discussionCacheTags.all);
    return total;
  }

  async #write(em: EntityManager, batch: readonly Prepared[]): Promise<void> {
    const categoryIds = [...new Set(batch.map(({ source }) => source.categoryId))];
    await this.#data.all(sql`select id from category where id = any(${categoryIds}::uuid[]) order by id for key share`);
    await this.#writeDiscussions(batch);
    await this.#count(batch);
    await this.#saveFields(
      em,
      discussionFields,
      batch.map(({ id, source }) => [id, source.fields]),
    );
    await this.#writePosts(em, batch);
    await this.#saveFields(
      em,
      postFields,
      batch.flatMap(({ source, postIds }) =>
        source.posts.map(({ fields }, index) => [postIds[index]!, fields] as const),
      ),
    );
  }

  /** Passes all values of a field to its plugin at once. */
  async #saveFields(
    em: EntityManager,
    point: ExtensionPoint<Field>,
    given: readonly (readonly [string, Readonly<Record<string, unknown>> | undefined])[],
  ): Promise<void> {
    for (const { value: field } of this.#plugin.extensions(point)) {
      if (!field.body || !field.saveMany) continue;
      const values = given.flatMap(([id, fields]) =>
        fields?.[field.name] === undefined ? [] : [[id, checkedValue(field, fields[field.name])] as const],
      );
      if (values.length > 0) await field.saveMany(em, new Map(values));
    }
  }

  async #writeDiscussions(batch: readonly Prepared[]): Promise<void> {
    const of = <T>(read: (prepared: Prepared) => T): T[] => batch.map(read);
    const last = ({ source }: Prepared) => source.posts.at(-1)!;
    await this.#data.all(sql`
      insert into discussion (id, title, slug, category_id, author_id, first_post_id, last_number, reply_count,
          view_count, participant_count, is_pinned, is_pinned_everywhere, is_locked,
        last_post_at, last_post_id, last_author_id, created_at, updated_at)
      select id, title, slug, category_id, author_id, first_post_id, posts, posts - 1, views, participants, pinned,
        everywhere, locked,
        last_at, last_id, last_author, created_at, last_at
      from unnest(${of(({ id }) => id)}::uuid[], ${of(({ source }) => source.title)}::text[], ${of(({ source }) => source.slug ?? slugOf(source.title, 'discussion'))}::text[],
        ${of(({ source }) => source.categoryId)}::uuid[], ${of(({ source }) => source.authorId)}::uuid[],
          ${of(({ postIds }) => postIds[0])}::uuid[],
        ${of(({ postIds }) => postIds.length)}::int[], ${of(({ source }) => source.views ?? 0)}::int[],
          ${of(({ participants }) => participants.size)}::int[],
        ${of(({ source }) => Boolean(source.pinned))}::boolean[],
          ${of(({ source }) => source.pinned === true || source.pinned === 'everywhere')}::boolean[],
        ${of(({ source }) => source.locked ?? false)}::boolean[],
        ${of((one) => last(one).createdAt.toISOString())}::timestamptz[],
          ${of(({ postIds }) => postIds.at(-1))}::uuid[], ${of((one) => last(one).authorId)}::uuid[],
        ${of(({ source }) => source.createdAt.toISOString())}::timestamptz[]) with ordinality
        as t (id, title, slug, category_id, author_id, first_post_id, posts, views, participants, pinned, everywhere, locked, last_at, last_id, last_author, created_at, position)
      order by position`);
  }

  async #writePosts(em: EntityManager, batch: readonly Prepared[]): Promise<void> {
    const rows = batch.flatMap(({ id, source, postIds }) =>
      source.posts.map((post, index) => ({
        ...post,
        id: postIds[index]!,
        discussionId: id,
        source,
        number: index + 1,
        // A reply to the first post is a plain reply.
        replyTo: post.replyTo === 1 ? null : (post.replyTo ?? null),
      })),
    );
    for (let start = 0; start < rows.length; start += this.#batch) {
      const part = rows.slice(start, start + this.#batch);
      const of = <T>(read: (row: (typeof rows)[number]) => T): T[] => part.map(read);
      await this.#data.all(sql`
        insert into post (id, discussion_id, number, author_id, content, html, reply_to_number, created_at, updated_at)
        select id, discussion_id, number, author_id, content, html, reply_to, created_at, created_at
        from unnest(${of(({ id }) => id)}::uuid[], ${of(({ discussionId }) => discussionId)}::uuid[], ${of(({ number }) => number)}::int[],
          ${of(({ authorId }) => authorId)}::uuid[],
          ${of(({ content }) => content)}::text[], ${of(({ html }) => html)}::text[],
            ${of(({ replyTo }) => replyTo)}::int[],
          ${of(({ createdAt }) => createdAt.toISOString())}::timestamptz[])
          as t (id, discussion_id, number, author_id, content, html, reply_to, created_at)`);
      await this.#projections.postsOfMany(em, () =>
        part.map(({ source: { title, categoryId }, ...post }) => ({
          ...post,
          title,
          categoryId,
          removed: false,
          discussionRemoved: false,
          visible: true,
        })),
      );
    }
  }

  async #count(batch: readonly Prepared[]): Promise<void> {
    const members = batch.flatMap(({ id, participants }) =>
      [...participants].map(([userId, posts]) => ({ id, userId, posts })),
    );
    await this.#data.all(sql`insert into discussion_participant (discussion_id, user_id, posts)
      select * from unnest(${members.map(({ id }) => id)}::uuid[], ${members.map(({ userId }) => userId)}::uuid[], ${members.map(({ posts }) => posts)}::int[])`);
    const [authors, categories] = [new Map<string, Tally>(), new Map<string, Tally>()];
    for (const { source, participants } of batch) {
      for (const [userId, posts] of participants) add(authors, `${source.categoryId} ${userId}`, 0, posts);
      add(authors, `${source.categoryId} ${source.authorId}`, 1, 0);
      add(categories, source.categoryId, 1, source.posts.length);
    }
    await addToCategoryCounts(
      this.#data,
      [...categories].map(([categoryId, tally]) => ({ categoryId, ...tally })),
    );
    const sorted = [...authors].sort(([a], [b]) => (a < b ? -1 : 1));
    await this.#data.all(sql`insert into discussion_author (category_id, user_id, discussions, posts)
      select split_part(t.id, ' ', 1)::uuid, split_part(t.id, ' ', 2)::uuid, t.discussions, t.posts
      from unnest(${sorted.map(([id]) => id)}::text[],
        ${sorted.map(([, { discussions }]) => discussions)}::int[],
          ${sorted.map(([, { posts }]) => posts)}::int[]) as t (id, discussions, posts)
      ${ADDED_TO_AUTHORS}`);
  }
}

function add(tallies: Map<string, Tally>, id: string, discussions: number, posts: number): void {
  const tally = tallies.get(id);
  if (!tally) return void tallies.set(id, { discussions, posts });
  tally.discussions += discussions;
  tally.posts += posts;
}

function prepare(source: ImportedDiscussion): Prepared {
  if (source.posts.some(({ html }) => Buffer.byteLength(html) > MAX_HTML_BYTES)) {
    throw new InvalidInput([
      { field: 'content', message: `renders to more than ${MAX_HTML_BYTES / 1024} KiB of HTML, in “${source.title}”` },
    ]);
  }
  // The author who started it is counted, and erased, by the first post.
  if (source.posts[0]?.authorId !== source.authorId)
    throw new InvalidInput([{ field: 'authorId', message: `did not write the first post of “${source.title}”` }]);
  if (source.posts.some(({ replyTo }, index) => replyTo !== undefined && !(replyTo >= 1 && replyTo <= index)))
    throw new InvalidInput([{ field: 'replyTo', message: `is not an earlier post, in “${source.title}”` }]);
  const participants = new Map<string, number>();
  for (const { authorId } of source.posts) participants.set(authorId, (participants.get(authorId) ?? 0) + 1);
  return {
    id: createId(source.createdAt.getTime()),
    source,
    postIds: source.posts.map(({ createdAt }) => createId(createdAt.getTime())),
    participants,
  };
}
