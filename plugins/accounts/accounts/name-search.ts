import { sql, type RawBuilder } from 'parley-forum';
import { foldedName } from './display-names.ts';

interface NameSearch {
  readonly matches: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
}

/** What the indexes of parts of names can find, whatever the database's language: they know letters and digits by threes. */
const FINDABLE = /[a-z0-9]{3}/;

/**
 * The first `most` usernames and display names that contain `text`, in any case: those that begin with it first, then by
 * username. Of less than three letters or digits in a row only names that begin with it, so that an index finds them
 * whatever is asked for.
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

/** Usernames and display names that begin with `text`, in any case, by username. */
export function namesFrom(text: string): NameSearch {
  const low = foldedName(text);
  return { matches: sql`(${begins(NAME, low)} or ${begins(DISPLAY_NAME, low)})`, order: sql`${NAME}, id` };
}

/**
 * The first `most` of them that are active. Each kind by its own index: for both together the planner reads all names in
 * their order, up to those that begin with a letter late in the alphabet. `offset 0` keeps it from doing so for display
 * names, which are sorted by username after they are found.
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
