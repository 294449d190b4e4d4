import { sql, type RawBuilder } from 'parley-forum';
import { foldedName } from './display-names.ts';

interface NameSearch {
  readonly matches: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
}

/** What the indexes of parts of names can find, whatever the database's language: they know letters and digits by threes. */
const FINDABLE = /[a-z0-9]{3}/;

/**
 * Usernames and display names that contain `text`, in any case: those that begin with it first, then by username. Of
 * less than three letters or digits in a row only names that begin with it, so that an index finds them whatever is
 * asked for.
 */
export function namesLike(text: string): NameSearch {
  const low = foldedName(text);
  const { matches: begins, order } = namesFrom(low);
  if (!FINDABLE.test(low)) return { matches: begins, order };
  const pattern = `%${low.replace(/[\\%_]/g, '\\$&')}%`;
  return {
    matches: sql`(lower(username::text) like ${pattern} or display_name_key like ${pattern})`,
    order: sql`coalesce(${begins}, false) desc, ${order}`,
  };
}

/** Usernames and display names that begin with `text`, in any case, by username. */
export function namesFrom(text: string): NameSearch {
  const low = foldedName(text);
  const name = sql`lower(username::text) collate "C"`;
  const beginsIn = (key: RawBuilder<unknown>) => sql`(${key} >= ${low} and ${key} < ${`${low}\u{10FFFF}`})`;
  return {
    matches: sql`(${beginsIn(name)} or ${beginsIn(sql`display_name_key collate "C"`)})`,
    order: sql`${name}, id`,
  };
}
