import type { Extension, PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { DraftForm, DraftForms } from 'parley-forum/ports/drafts';

interface FormsDeps {
  readonly discussions: Discussions;
  /** The draft forms of other plugins. */
  readonly others: () => readonly Extension<DraftForms>[];
  readonly attempt: PluginHandle['attempt'];
}
const KEY = /^(?:new(?:-([\da-f]{12}))?|(reply|edit)-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))$/;
/** Milliseconds a plugin may take to find its forms. */
const FORMS_TIMEOUT = 2_000;
const NEW: DraftForm = { title: null, path: '/new' };
const formOfNew = (id: string): DraftForm => (id === '' ? NEW : { ...NEW, draft: id });

/** The kind of form that a key stands for: the part before the first hyphen. */
export const kindOf = (key: string): string => key.split('-', 1)[0]!;

/** Parses a key; undefined if it is not valid, so that only texts for the forum are ever stored. */
const parseKey = (key: string): { readonly kind: 'new' | 'reply' | 'edit'; readonly id: string } | undefined => {
  const [all, newId = '', kind = 'new', id = newId] = KEY.exec(key) ?? [];
  return all === undefined ? undefined : { kind: kind as 'new' | 'reply' | 'edit', id };
};

/**
 * The forms of these keys, in order; undefined for keys without a form that the viewer may see, or whose plugin fails.
 * Runs a constant number of statements.
 */
export async function formsOf(
  keys: readonly string[],
  { discussions, others, attempt }: FormsDeps,
  viewer: Viewer,
): Promise<readonly (DraftForm | undefined)[]> {
  const found = new Map(await ofDiscussions(keys, discussions, viewer));
  for (const { plugin, value } of others()) {
    const own = keys.filter((key) => kindOf(key) === value.kind);
    if (own.length === 0) continue;
    const forms = await attempt(plugin, `draft forms ${value.kind}`, () => value.find(own, viewer), FORMS_TIMEOUT);
    for (const [key, form] of forms ?? []) found.set(key, form);
  }
  return keys.map((key) => found.get(key));
}

async function ofDiscussions(
  keys: readonly string[],
  discussions: Discussions,
  viewer: Viewer,
): Promise<readonly (readonly [string, DraftForm])[]> {
  const parsed = keys.flatMap((key) => {
    const one = parseKey(key);
    return one ? [{ key, ...one }] : [];
  });
  const idsOf = (kind: string): string[] => parsed.flatMap((one) => (one.kind === kind ? [one.id] : []));
  if (parsed.every(({ kind }) => kind === 'new')) return parsed.map(({ key, id }) => [key, formOfNew(id)]);
  const posts = new Map((await discussions.posts(idsOf('edit'), viewer)).map((post) => [post.id, post]));
  const discussionIds = [...idsOf('reply'), ...[...posts.values()].map((post) => post.discussion_id)];
  const records = await discussions.records([...new Set(discussionIds)], viewer);
  const known = new Map(records.map((record) => [record.id, record]));
  return parsed.flatMap(({ key, kind, id }): readonly (readonly [string, DraftForm])[] => {
    if (kind === 'new') return [[key, formOfNew(id)]];
    const record = known.get((kind === 'edit' ? posts.get(id)?.discussion_id : id) ?? '');
    if (!record) return [];
    return [[key, { title: record.title, path: kind === 'edit' ? `/p/${id}/edit` : `/d/${record.number}/reply` }]];
  });
}
