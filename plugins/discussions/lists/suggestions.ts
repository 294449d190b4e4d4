import { sql, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { discussionCacheTags, listCacheTags, type Categories, type Category } from 'parley-forum/plugins/discussions';
import { findAlike, type SuggestionSource } from 'parley-forum/ports/suggestions';
import { discussionPath } from '../identifiers.ts';

interface Row {
  readonly id: string;
  readonly number: number;
  readonly slug: string;
  readonly title: string;
  readonly category_id: string;
}
interface FoundByTitle extends Row {
  /** Name of its category. */
  readonly category: string | undefined;
}
/** Further words would not narrow the result. */
const MAX_WORDS = 8;

/** The services needed to find discussions by title. */
interface TitleDeps {
  readonly data: Data;
  readonly categories: Categories;
}

/**
 * Finds visible discussions with title words that start with the words of `text`, which is in lower case with single
 * spaces: first those whose title starts with all of it, then the most recently active. A word starts after a space, so
 * the trigram index of titles also finds prefixes of two letters.
 */
export async function findByTitle(
  { data, categories }: TitleDeps,
  text: string,
  viewer: Viewer,
  limit: number,
): Promise<readonly FoundByTitle[]> {
  await categories.refresh();
  const visible = categories.visible(viewer);
  const title = sql`(' ' || lower(d.title))`;
  const words = text
    .split(' ')
    .slice(0, MAX_WORDS)
    .map((word) => sql`${title} like ${`% ${word.replace(/[\\%_]/g, '\\$&')}%`}`);
  // Materialized, because in order of activity the planner would scan titles until enough of them match.
  const rows = await data.all(sql<Row>`
    with found as materialized (
      select d.id, d.number, d.slug, d.title, d.category_id, d.last_post_at from discussion d
      where d.deleted_at is null and d.category_id = any(${visible.map(({ id }) => id)}::uuid[])
        and ${sql.join(words, sql` and `)}
    )
    select id, number, slug, title, category_id from found
    order by starts_with(lower(title), ${text}) desc, last_post_at desc, id desc limit ${limit}`);
  return rows.map((row) => ({ ...row, category: visible.find(({ id }) => id === row.category_id)?.name }));
}

/** The discussions that a search field suggests. */
export const titleSuggestions = (data: Data, categories: Categories): SuggestionSource => ({
  label: 'discussions:home.title',
  tags: listCacheTags,
  async find(text, viewer, limit) {
    const found = await findByTitle({ data, categories }, text, viewer, limit);
    return found.map((one) => ({ label: one.title, path: discussionPath(one), detail: one.category }));
  },
  async alike({ word, swapped }, viewer, limit) {
    await categories.refresh();
    const title = sql`(' ' || lower(d.title))`;
    const isSwapped = sql`(${sql.join(
      swapped.map((other) => sql`${title} like ${`% ${other}%`}`),
      sql` or `,
    )})`;
    const rows = await findAlike(
      data,
      sql<{ title: string }>`select d.title from discussion d
        where d.deleted_at is null and d.category_id = any(${categories.visible(viewer).map(({ id }) => id)}::uuid[])
          and (${word} <<% ${title} or ${isSwapped})
        order by ${isSwapped} desc, strict_word_similarity(${word}, ${title}) desc, d.id desc limit ${limit}`,
    );
    return rows.map(({ title: found }) => found);
  },
});

/** The categories that a search field suggests; all of them are in memory. The whole text at the beginning comes first. */
export const categorySuggestions = (categories: Categories): SuggestionSource => ({
  kind: 'categories',
  label: 'discussions:nav.categories',
  tags: [discussionCacheTags.categories],
  async find(text, viewer, limit) {
    await categories.refresh();
    const visible = categories.visible(viewer);
    const words = text.split(' ');
    const begins = ({ name }: Category): boolean => name.toLowerCase().startsWith(text);
    return visible
      .filter(({ name }) => words.every((word) => ` ${name.toLowerCase()}`.includes(` ${word}`)))
      .toSorted((a, b) => Number(begins(b)) - Number(begins(a)))
      .slice(0, limit)
      .map(({ name, slug, parentId }) => ({
        label: name,
        path: `/c/${encodeURIComponent(slug)}`,
        detail: visible.find(({ id }) => id === parentId)?.name,
      }));
  },
});
