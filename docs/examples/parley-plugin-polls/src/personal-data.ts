import { sql, type Cache, type Data } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { jsonList, readInBatches, repeatInBatches, type PersonalData } from 'parley-forum/ports/personal-data';

interface Vote {
  readonly discussion_id: string;
  readonly option: string;
  readonly created_at: Date;
}

/** Exports a member's votes. Anonymising keeps them, removing takes them out of the counts. */
export const votesOfMember = (data: Data, cache: Cache): PersonalData => ({
  name: 'votes in polls',
  async *entries(accountId) {
    const votes = readInBatches<Vote>((last, limit) =>
      data.all(sql<Vote>`select discussion_id, options[choice + 1] as option, created_at
        from poll_vote join poll using (discussion_id)
        where user_id = ${accountId} and (${last?.discussion_id ?? null}::uuid is null or discussion_id > ${last?.discussion_id ?? null}::uuid)
        order by discussion_id limit ${limit}`),
    );
    yield { path: 'votes.json', content: jsonList(votes) };
  },
  async erase(accountId, mode, signal) {
    if (mode === 'anonymise') return;
    await repeatInBatches(signal, async (limit) => {
      const gone = await data.all(sql`delete from poll_vote where user_id = ${accountId} and discussion_id in (
        select discussion_id from poll_vote where user_id = ${accountId} order by discussion_id limit ${limit}) returning 1 as one`);
      return gone.length;
    });
    await cache.purge(discussionCacheTags.all);
  },
});
