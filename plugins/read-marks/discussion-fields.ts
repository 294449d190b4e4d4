import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Field } from 'parley-forum/plugins/discussions';
import type { ReadMark } from 'parley-forum/plugins/read-marks';
import { memberOf, type ReadMarkService } from './read-mark-service.ts';

const FIELDS = {
  last_read_number: 'Members only: the greatest number of a post that the caller has seen; 0: none yet',
  unread_count: 'Members only: posts behind it that are not deleted; 0 in what is muted or old',
} as const;

/** Of the record of a discussion. */
export function readMarkFields(marks: ReadMarkService): readonly Field[] {
  // Both fields of a page are asked for with the same list.
  const loading = new WeakMap<readonly string[], Promise<readonly ReadMark[]>>();
  const load = (ids: readonly string[], viewer: Viewer): Promise<readonly ReadMark[]> => {
    const loaded = loading.get(ids) ?? marks.of(ids, memberOf(viewer));
    loading.set(ids, loaded);
    return loaded;
  };
  return (['last_read_number', 'unread_count'] as const).map((name) => ({
    name,
    personal: true,
    result: Type.Integer({ description: FIELDS[name] }),
    loadMany: async (ids, viewer) => (await load(ids, viewer)).map((mark) => mark[name]),
  }));
}
