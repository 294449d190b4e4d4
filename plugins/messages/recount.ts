import { counterKeys, sql, type Cache, type Counter, type Data, type RawBuilder } from 'parley-forum';
import { accountTag } from 'parley-forum/plugins/accounts';

/** The last message of each of these conversations. */
const lastOf = (ids: readonly string[]): RawBuilder<unknown> => sql`
  select distinct on (conversation_id) conversation_id, number, created_at as at from conversation_message
  where conversation_id = any(${ids}::uuid[]) order by conversation_id, number desc`;

/** Checks each participant's copy of the conversation's last message, and that they have not read further than that. */
export const lastMessageCounter = ({ data, cache }: { readonly data: Data; readonly cache: Cache }): Counter => ({
  name: 'last messages of conversations',
  keys: counterKeys(data, { table: 'conversation', column: 'id' }),
  async check(ids) {
    const rows = await data.all(sql<{ line: string }>`
      select format('conversation %s, member %s: %s read of %s, but there are %s', p.conversation_id, p.user_id,
        p.read_number, p.last_number, m.number) as line
      from conversation_participant p
        join (${lastOf(ids)}) m using (conversation_id)
      where p.last_number <> m.number or p.last_at <> m.at or p.read_number > m.number
      order by p.conversation_id, p.user_id`);
    return rows.map(({ line }) => line);
  },
  repair: (ids) =>
    data.transaction(async () => {
      // Takes the same lock as every writer, so that the next statement sees what earlier holders of it wrote.
      await data.all(sql`select id from conversation where id = any(${ids}::uuid[]) order by id for update`);
      const rows = await data.all(sql<{ id: string }>`update conversation_participant p
        set last_number = m.number, last_at = m.at, read_number = least(p.read_number, m.number)
        from (${lastOf(ids)}) m
        where p.conversation_id = m.conversation_id returning p.user_id as id`);
      await cache.purge(...new Set(rows.map(({ id }) => accountTag(id))));
    }),
});
