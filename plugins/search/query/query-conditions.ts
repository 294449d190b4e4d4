import { sql, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Categories } from 'parley-forum/plugins/discussions';
import type { Tags } from 'parley-forum/ports/tags';
import type { Query } from './query.ts';

interface Sources {
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly tags: Tags | undefined;
}

/**
 * SQL conditions on a post `p` for the filters of a query and the viewer's permissions; `undefined` if nothing can
 * match, for example because a name is unknown or hidden.
 */
export async function queryConditions(
  query: Query,
  { accounts, categories, tags }: Sources,
  viewer: Viewer,
): Promise<readonly RawBuilder<unknown>[] | undefined> {
  await categories.refresh();
  const named = query.categories.map((name) => categories.find(name, viewer));
  const tagged = await Promise.all(
    query.tags.map(async (name) => (await tags?.find(name.toLowerCase(), viewer)) ?? tags?.find(name, viewer)),
  );
  const authors = await Promise.all(query.authors.map((name) => authorOf(name, accounts)));
  const visible = categories.visible(viewer).map(({ id }) => id);
  if (visible.length === 0 || [...named, ...tagged, ...authors].includes(undefined)) return undefined;
  return [
    ...(visible.length < categories.all().length ? [sql`p.category_id = any(${visible}::uuid[])`] : []),
    ...named.map((category) => sql`p.category_id = ${category!.id}`),
    ...authors.map((id) => sql`p.author_id = ${id}`),
    ...tagged.map((tag) => sql`p.discussion_id in (${tags!.discussionsWith(tag!.id)})`),
    ...(query.before ? [sql`p.created_at < ${query.before}`] : []),
    ...(query.after ? [sql`p.created_at >= ${query.after}`] : []),
  ];
}

/** Only by username: otherwise an email address would reveal its owner. */
async function authorOf(name: string, accounts: Accounts): Promise<string | undefined> {
  const username = name.replace(/^@/, '');
  const account = await accounts.findByIdentifier(username);
  return account?.username.toLowerCase() === username.toLowerCase() ? account.id : undefined;
}
