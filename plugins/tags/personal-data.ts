import { sql, ZERO_ID, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly discussion_id: string;
  readonly tags: readonly string[];
}

/** Exports the tags of a member's discussions. They belong to the discussions and are erased with them. */
export const tagsPersonalData = (data: Data): PersonalData => ({
  name: 'tags',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`
      select d.id as discussion_id, array_agg(t.slug order by x.position, t.slug) as tags
      from discussion d join discussion_tag x on x.discussion_id = d.id and x.position is not null
      join tag t on t.id = x.tag_id
      where d.author_id = ${accountId} and d.id > ${after?.discussion_id ?? ZERO_ID} group by d.id
      order by d.id limit ${limit}`),
    );
    yield { path: 'tags.json', content: jsonList(rows) };
  },
});
