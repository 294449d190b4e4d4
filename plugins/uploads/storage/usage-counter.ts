import { counterKeys, sql, type Clock, type Counter, type Data } from 'parley-forum';

/** Recounts whether posts use a file: unused files are removed after a while. */
export const usageCounter = ({ data, clock }: { readonly data: Data; readonly clock: Clock }): Counter => {
  const used = sql`exists (select from upload_use x where x.upload_id = u.id)`;
  return {
    name: 'uploads in use',
    keys: counterKeys(data, { table: 'upload', column: 'id' }),
    async check(keys) {
      const rows = await data.all(sql<{
        line: string;
      }>`select format('upload %s: is %s', u.id, case when ${used} then 'used' else 'unused' end) as line from upload u
        where u.id = any(${keys}::uuid[]) and u.purpose = 'post'
          and (u.unused_since is null) <> ${used} order by u.id`);
      return rows.map(({ line }) => line);
    },
    async repair(keys) {
      await data.transaction(async () => {
        await data.all(sql`select from upload where id = any(${keys}::uuid[]) order by id for update`);
        await data.all(sql`update upload u
          set unused_since = case when ${used} then null else ${new Date(clock.now())}::timestamptz end
          where u.id = any(${keys}::uuid[]) and u.purpose = 'post' and (u.unused_since is null) <> ${used}`);
      });
    },
  };
};
