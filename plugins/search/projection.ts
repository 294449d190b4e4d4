import { sql, type Data, type EntityManager } from 'parley-forum';
import type { PostProjection, ProjectedPost } from 'parley-forum/plugins/discussions';
import { vectorOf, type Language } from './languages.ts';
import { plainText } from './plain-text.ts';

/** Updates the search index in the transaction that writes a post. One statement each. */
export class SearchProjection implements PostProjection {
  readonly #data: Data;
  readonly #language: () => Language;

  constructor(data: Data, language: () => Language) {
    this.#data = data;
    this.#language = language;
  }

  /** Rows that have not changed are not written. */
  async posts(_em: EntityManager, posts: readonly ProjectedPost[]): Promise<void> {
    const of = <T>(read: (post: ProjectedPost) => T): T[] => posts.map(read);
    const language = this.#language();
    await this.#data.all(sql`
      insert into search_post as s (id, discussion_id, number, category_id, author_id, created_at, visible, removed,
          language, title, body, vector)
      select id, discussion_id, number, category_id, author_id, created_at, visible, removed, ${language}, title, body,
        ${vectorOf({ language: sql`${language}`, title: sql`title`, body: sql`body` })}
      from unnest(${of(({ id }) => id)}::uuid[], ${of(({ discussionId }) => discussionId)}::uuid[], ${of(({ number }) => number)}::int[],
        ${of(({ categoryId }) => categoryId)}::uuid[], ${of(({ authorId }) => authorId)}::uuid[],
          ${of(({ createdAt }) => createdAt.toISOString())}::timestamptz[],
        ${of(({ visible }) => visible)}::boolean[], ${of(({ removed }) => removed)}::boolean[],
        ${of(({ number, title }) => (number === 1 ? title : ''))}::text[], ${of(({ html }) => plainText(html))}::text[])
        as t (id, discussion_id, number, category_id, author_id, created_at, visible, removed, title, body)
      on conflict (id) do update set discussion_id = excluded.discussion_id, number = excluded.number,
        category_id = excluded.category_id, visible = excluded.visible, removed = excluded.removed,
        language = excluded.language, title = excluded.title, body = excluded.body, vector = excluded.vector
      where (s.discussion_id, s.number, s.category_id, s.visible, s.removed, s.language, s.title, s.body)
        is distinct from (excluded.discussion_id, excluded.number, excluded.category_id, excluded.visible, excluded.removed, excluded.language, excluded.title, excluded.body)`);
  }

  async discussion(
    _em: EntityManager,
    { id, title, categoryId, visible }: Parameters<PostProjection['discussion']>[1],
  ): Promise<void> {
    await this.#data.all(sql`update search_post set category_id = ${categoryId}, visible = ${visible} and not removed,
        title = case when number = 1 then ${title} else '' end,
        vector = case when number = 1 then ${vectorOf({ language: sql`language`, title: sql`${title}::text`, body: sql`body` })} else vector end
      where discussion_id = ${id} and (category_id <> ${categoryId} or visible <> (${visible} and not removed)
          or (number = 1 and title <> ${title}))`);
  }

  async category(_em: EntityManager, from: string, to: string): Promise<void> {
    await this.#data.all(sql`update search_post set category_id = ${to} where category_id = ${from}`);
  }
}
