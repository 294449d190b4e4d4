import type { Viewer } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';

/** A form that somebody writes in. */
export interface DraftForm {
  /** Of the discussion it belongs to; null for a new one. */
  readonly title: string | null;
  readonly path: string;
}

const KEY = /^(?:new|(reply|edit)-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))$/;
const NEW: DraftForm = { title: null, path: '/new' };

/** What a key names; undefined where it is none, so that nothing but texts for the forum is ever stored. */
const parseKey = (key: string): { readonly kind: 'new' | 'reply' | 'edit'; readonly id: string } | undefined => {
  const [all, kind = 'new', id = ''] = KEY.exec(key) ?? [];
  return all === undefined ? undefined : { kind: kind as 'new' | 'reply' | 'edit', id };
};

/** The forms of these keys, in order; undefined where there is none that the viewer may see. A constant number of statements. */
export async function formsOf(
  keys: readonly string[],
  discussions: Discussions,
  viewer: Viewer,
): Promise<readonly (DraftForm | undefined)[]> {
  const parsed = keys.map(parseKey);
  const idsOf = (kind: string): string[] => parsed.flatMap((one) => (one?.kind === kind ? [one.id] : []));
  if (keys.every((key) => key === 'new')) return keys.map(() => NEW);
  const posts = new Map((await discussions.posts(idsOf('edit'), viewer)).map((post) => [post.id, post]));
  const discussionIds = [...idsOf('reply'), ...[...posts.values()].map((post) => post.discussion_id)];
  const records = await discussions.records([...new Set(discussionIds)], viewer);
  const found = new Map(records.map((record) => [record.id, record]));
  return parsed.map((one): DraftForm | undefined => {
    if (one?.kind === 'new') return NEW;
    const record = found.get((one?.kind === 'edit' ? posts.get(one.id)?.discussion_id : one?.id) ?? '');
    if (!one || !record) return undefined;
    return { title: record.title, path: one.kind === 'edit' ? `/p/${one.id}/edit` : `/d/${record.number}/reply` };
  });
}
