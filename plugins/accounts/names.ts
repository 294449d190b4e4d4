import { sql, type RawBuilder } from '#core';

/** Names that contain `text`, in any case: those that begin with it first, then by name. The index of names serves three characters and more. */
export function namesLike(text: string): { readonly matches: RawBuilder<unknown>; readonly order: RawBuilder<unknown> } {
  const pattern = text.toLowerCase().replace(/[\\%_]/g, '\\$&');
  return {
    matches: sql`lower(username::text) like ${`%${pattern}%`}`,
    order: sql`lower(username::text) like ${`${pattern}%`} desc, lower(username::text), id`,
  };
}
