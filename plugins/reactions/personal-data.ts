import { sql, type Cache, type Data } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { repeatInBatches, readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly id: number;
  readonly post_id: string;
  readonly reaction: string;
  readonly created_at: Date;
}

/** Exports a member's reactions. Anonymizing an account keeps them; removing it deletes them. */
export const reactionsPersonalData = ({
  data,
  cache,
}: {
  readonly data: Data;
  readonly cache: Cache;
}): PersonalData => ({
  name: 'reactions',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select id, post_id, type as reaction, created_at from reaction
      where user_id = ${accountId} and id > ${after?.id ?? 0} order by id limit ${limit}`),
    );
    yield { path: 'reactions.json', content: jsonList(rows) };
  },
  async erase(accountId, mode, signal) {
    if (mode === 'anonymise') return;
    await repeatInBatches(signal, (limit) =>
      data.transaction(async () => {
        // Counters are locked in key order and before the reactions, as when a reaction is added.
        const chosen = sql`select post_id, type from reaction
          where user_id = ${accountId} order by post_id, type limit ${limit}`;
        await data.all(
          sql`select 1 from reaction_count where (post_id, type) in (${chosen}) order by post_id, type for update`,
        );
        const gone = await data.all(sql`with gone as (
          delete from reaction where user_id = ${accountId} and (post_id, type) in (${chosen}) returning post_id, type
        ), counted as (
          update reaction_count c set count = c.count - 1 from gone g where c.post_id = g.post_id and c.type = g.type
        ) select 1 from gone`);
        return gone.length;
      }),
    );
    await cache.purge(discussionCacheTags.all);
  },
});
