import { sql, type RawBuilder } from 'parley-forum';

/** What the index of parts of names can find: it knows letters and digits by threes. */
const FINDABLE = /[\p{L}\p{N}]{3}/u;

/**
 * Names that contain `text`, in any case: those that begin with it first, then by name. Of less than three letters or
 * digits in a row only names that begin with it, so that an index finds them whatever is asked for.
 */
export function usernamesLike(text: string): {
  readonly matches: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
} {
  const low = text.toLowerCase();
  const { matches: begins, order } = usernamesFrom(low);
  if (!FINDABLE.test(low)) return { matches: begins, order };
  const pattern = low.replace(/[\\%_]/g, '\\$&');
  return { matches: sql`lower(username::text) like ${`%${pattern}%`}`, order: sql`${begins} desc, ${order}` };
}

/** Names that begin with `text`, in any case, by name. */
export function usernamesFrom(text: string): {
  readonly matches: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
} {
  const low = text.toLowerCase();
  const name = sql`lower(username::text) collate "C"`;
  return { matches: sql`(${name} >= ${low} and ${name} < ${`${low}\u{10FFFF}`})`, order: sql`${name}, id` };
}
