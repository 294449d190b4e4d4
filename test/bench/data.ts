import type { App } from '../../core/host/app.ts';
import { runCommand } from '../../core/cli/run-command.ts';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';

export interface Amounts {
  readonly discussions: number;
  readonly posts: number;
  readonly users: number;
}

/** What the parent needs to know of a filled forum. */
export interface Prepared {
  readonly member: { readonly username: string; readonly password: string };
  /** Ids of discussions of ordinary length, for writes. */
  readonly discussions: readonly string[];
  /** Number of a discussion of 20 posts, and of one of `long` posts. */
  readonly short: number;
  readonly long: number;
  /** The first post of the short one, and the tag that both have. */
  readonly post: string;
  readonly tag: string;
}

const TAG = 'measured';
export const MEMBER = { username: 'bench-member', email: 'bench@load.example', password: 'Bench-pass-4711' };

/**
 * Installs where nothing is installed yet, adds load data, one discussion of `long` posts and one member to log in as.
 */
export async function prepare(app: App, { long, ...amounts }: Amounts & { readonly long: number }): Promise<Prepared> {
  if (app.settings.get('kernel.installed_at') === '') {
    await runCommand(app, [
      'install',
      '--admin-username',
      'bench-admin',
      '--admin-email',
      'admin@load.example',
      '--admin-password',
      MEMBER.password,
    ]);
  }
  await runCommand(app, [
    'seed',
    '--discussions',
    String(amounts.discussions),
    '--posts',
    String(amounts.posts),
    '--users',
    String(amounts.users),
  ]);
  const accounts = app.service(Accounts);
  const member = (await accounts.findByIdentifier(MEMBER.username)) ?? (await accounts.create(MEMBER));
  const category = app
    .service(Categories)
    .all()
    .find(({ view, create }) => view === 'everyone' && create === 'members');
  if (!category) throw new Error('there is no category that everyone reads and members write in');
  const post = (at: number) => ({
    authorId: member.id,
    content: `Measured post ${at}.`,
    html: `<p>Measured post ${at}.</p>`,
    createdAt: new Date(Date.now() - (long - at) * 1_000),
  });
  const discussion = (title: string, posts: number) => ({
    title,
    fields: { tags: [TAG] },
    categoryId: category.id,
    authorId: member.id,
    createdAt: new Date(Date.now() - long * 1_000),
    posts: Array.from({ length: posts }, (_, at) => post(at)),
  });
  await app
    .service(Importer)
    .importDiscussions([discussion('A discussion of twenty posts', 20), discussion('A very long discussion', long)]);
  const rows = await app.data.all(
    sql<{
      id: string;
      number: number;
      title: string;
      first_post_id: string;
    }>`select id, number, title, first_post_id from discussion where category_id = ${category.id} and deleted_at is null and not is_locked order by number desc limit 500`,
  );
  const short = rows.find(({ title }) => title.startsWith('A discussion of twenty'))!;
  return {
    member: MEMBER,
    discussions: rows.slice(2).map(({ id }) => id),
    short: short.number,
    post: short.first_post_id,
    tag: TAG,
    long: rows.find(({ title }) => title.startsWith('A very long'))!.number,
  };
}
