import { createId, sql, Type, type Clock, type Data, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';
import { MAX_NOTE } from 'parley-forum/plugins/bookmarks';
import type { Field } from 'parley-forum/plugins/discussions';
import type { BookmarkStore } from './bookmark-store.ts';

/** Bookmarks of an imported post; at most one per member. */
const Imported = Type.Array(
  Type.Object({
    user_id: Type.String({ format: 'uuid' }),
    note: Type.String({ maxLength: MAX_NOTE }),
    created_at: Time,
  }),
);

export interface FieldDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly store: BookmarkStore;
}

/** The `bookmark` field of the post record. One statement per page. */
export const bookmarkField = ({ data, clock, store }: FieldDeps): Field => ({
  name: 'bookmark',
  result: nullable(
    Type.Object(
      { id: Type.String(), note: Type.String(), remind_at: nullable(Time) },
      { description: 'Members only: the caller’s bookmark of the post' },
    ),
  ),
  personal: true,
  async loadMany(ids, viewer) {
    const own = await store.ofPosts(viewer.id!, ids);
    const found = new Map(
      own.map(({ id, postId, note, remindAt }) => [postId, { id, note, remind_at: remindAt?.toISOString() ?? null }]),
    );
    return ids.map((id) => found.get(id) ?? null);
  },
  body: Imported,
  async saveMany(_em, values) {
    const rows = [...values].flatMap(([post_id, given]) =>
      (given as Static<typeof Imported>).map((one) => ({ ...one, post_id, id: createId(clock.now()) })),
    );
    await data.all(sql`insert into bookmark (id, user_id, post_id, note, created_at)
      select id, user_id, post_id, note, created_at from json_to_recordset(${JSON.stringify(rows)}::json)
        as b(id uuid, user_id uuid, post_id uuid, note text, created_at timestamptz) order by user_id, post_id
          on conflict do nothing`);
  },
});
