import { sql, type RawBuilder } from 'parley-forum';
import { foldedName } from './display-names.ts';

interface NameSearch {
  readonly matches: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
}

/** Text that a trigram index can find regardless of the database's locale: three letters or digits in a row. */
const FINDABLE = /[a-z0-9]{3}/;

/**
 * The first `most` usernames and display names that contain `text`, ignoring case: names that start with it first, then
 * by username. With fewer than three letters or digits in a row, only names that start with it are found, so that an
 * index can always be used.
 */
export function namesLike(text: string, most: number): NameSearch {
  const low = foldedName(text);
  if (!FINDABLE.test(low)) return firstNamesFrom(low, most);
  const { matches: begins, order } = namesFrom(low);
  const pattern = `%${low.replace(/[\\%_]/g, '\\$&')}%`;
  return {
    matches: sql`(lower(username::text) like ${pattern} or display_name_key like ${pattern})`,
    order: sql`coalesce(${begins}, false) desc, ${order}`,
  };
}

const NAME = sql`lower(username::text) collate "C"`;
const DISPLAY_NAME = sql`display_name_key collate "C"`;
const begins = (key: RawBuilder<unknown>, low: string): RawBuilder<unknown> =>
  sql`(${key} >= ${low} and ${key} < ${`${low}\u{10FFFF}`})`;

/** Usernames and display names that start with `text`, ignoring case, by username. */
export function namesFrom(text: string): NameSearch {
  const low = foldedName(text);
  return { matches: sql`(${begins(NAME, low)} or ${begins(DISPLAY_NAME, low)})`, order: sql`${NAME}, id` };
}

/**
 * The first `most` of them that are active. Each kind of name uses its own index: for both together, the planner would
 * read all names in order, up to those that start with a letter late in the alphabet. `offset 0` prevents the same for
 * display names, which are sorted by username after they are found.
 */
export function firstNamesFrom(text: string, most: number): NameSearch {
  const low = foldedName(text);
  const { order } = namesFrom(low);
  const matches = sql`id in (
    (select id from account where ${begins(NAME, low)} and status = 'active' order by ${order} limit ${most})
    union all (select id from (select id, username from account where ${begins(DISPLAY_NAME, low)} and status = 'active'
      offset 0) a order by ${order} limit ${most}))`;
  return { matches, order };
}
