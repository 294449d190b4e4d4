import { sql, Type, type Data, type Static } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';
import type { Field } from 'parley-forum/plugins/discussions';
import { ReactionCounts } from 'parley-forum/plugins/reactions';
import type { ReactionService } from './reaction-service.ts';

/** Reactions of an imported post; at most one of each type per member. */
const Imported = Type.Array(
  Type.Object({ reaction: Type.String(), user_id: Type.String({ format: 'uuid' }), created_at: Time }),
);

/** The `reactions` field of the post record. */
export const reactionsField = (reactions: ReactionService, data: Data): Field => ({
  name: 'reactions',
  result: ReactionCounts,
  loadMany: (ids, viewer) => reactions.counts(ids, viewer),
  body: Imported,
  async saveMany(_em, values) {
    const rows = [...values].flatMap(([postId, given]) =>
      (given as Static<typeof Imported>).map((one) => ({ ...one, postId })),
    );
    const of = (read: (row: (typeof rows)[number]) => string): string[] => rows.map(read);
    await data.all(sql`
      with given as (
        insert into reaction (post_id, type, user_id, created_at)
        select * from unnest(${of(({ postId }) => postId)}::uuid[], ${of(({ reaction }) => reaction)}::text[], ${of(({ user_id }) => user_id)}::uuid[],
          ${of(({ created_at }) => created_at)}::timestamptz[]) as t (post_id, type, user_id, created_at)
            order by created_at, post_id, type, user_id
        on conflict do nothing returning post_id, type
      )
      insert into reaction_count (post_id, type, count) select post_id, type, count(*) from given group by post_id, type
      order by post_id, type
      on conflict (post_id, type) do update set count = reaction_count.count + excluded.count`);
  },
});
