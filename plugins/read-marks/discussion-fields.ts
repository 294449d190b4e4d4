import { Type, type Static } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { loginNeeded, Time } from 'parley-forum/plugins/api';
import type { Field } from 'parley-forum/plugins/discussions';
import type { ReadMark } from 'parley-forum/plugins/read-marks';
import type { ReadMarkService } from './read-mark-service.ts';

const FIELDS = {
  last_read_number: 'Members only: the highest number of a post that the caller has seen; 0: none yet',
  unread_count: 'Members only: later posts that are not deleted; 0 in muted or old discussions',
} as const;

/** How far members have read an imported discussion. */
const Imported = Type.Array(
  Type.Object({
    user_id: Type.String({ format: 'uuid' }),
    last_read_number: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
    read_at: Time,
  }),
);

/** Read-mark fields of the discussion record. */
export function readMarkFields(marks: ReadMarkService): readonly Field[] {
  // Both fields are loaded with the same list of ids.
  const loading = new WeakMap<readonly string[], Promise<readonly ReadMark[]>>();
  const load = (ids: readonly string[], viewer: Viewer): Promise<readonly ReadMark[]> => {
    if (isGuest(viewer)) throw loginNeeded();
    const loaded = loading.get(ids) ?? marks.of(ids, viewer);
    loading.set(ids, loaded);
    return loaded;
  };
  const field = (name: keyof typeof FIELDS): Field => ({
    name,
    personal: true,
    result: Type.Integer({ description: FIELDS[name] }),
    loadMany: async (ids, viewer) => (await load(ids, viewer)).map((mark) => mark[name]),
  });
  return [
    {
      ...field('last_read_number'),
      body: Imported,
      saveMany: (_em, values) =>
        marks.importMarks(
          [...values].flatMap(([discussionId, given]) =>
            (given as Static<typeof Imported>).map((one) => ({
              discussionId,
              userId: one.user_id,
              number: one.last_read_number,
              readAt: new Date(one.read_at),
            })),
          ),
        ),
    },
    field('unread_count'),
  ];
}
