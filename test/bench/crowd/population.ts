import type { App } from '../../../core/host/app.ts';
import { runCommand } from '../../../core/cli/run-command.ts';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { Reactions } from 'parley-forum/plugins/reactions';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { MEMBER } from '../data.ts';
import { pick } from './requests.ts';

/** Whom and what the parent may ask for. */
export interface Population {
  readonly members: readonly { readonly id: string; readonly username: string }[];
  /** In no order. */
  readonly discussions: readonly { readonly id: string; readonly path: string }[];
  /** Ids of posts, some of each part of the forum. */
  readonly posts: readonly string[];
  readonly reactions: readonly string[];
  readonly categories: readonly string[];
  /** That were written somewhere. */
  readonly words: readonly string[];
}

const MEMBERS = 500;
const DISCUSSIONS = 2_000;
/** Of each discussion: a page. */
const POSTS = 20;
/** What each member follows, and how many posts they have reacted to. */
const FOLLOWED = 10;
const REACTED = 4;
/** Posts of the seed whose texts are used again. */
const TEXTS = 1_000;
const DAY = 86_400_000;

/** Installs, and makes discussions of one page each, with members who follow some and have reacted here and there. */
export async function populate(app: App): Promise<Population> {
  const words = ['--admin-username', 'bench-admin', '--admin-email', 'admin@load.example'];
  await runCommand(app, ['install', ...words, '--admin-password', MEMBER.password]);
  await runCommand(app, ['seed', '--discussions', '100', '--posts', String(TEXTS), '--users', String(MEMBERS)]);
  await addDiscussions(app);
  const members = await app.data.all(
    sql<
      Population['members'][number]
    >`select id, username from account where email like '%@load.example' and username <> 'bench-admin' order by id`,
  );
  const found = await app.data.all(
    sql<{
      id: string;
      path: string;
      post: string;
    }>`select id, '/d/' || number || '-' || slug as path, first_post_id as post
      from discussion where last_number = ${POSTS} and not is_locked order by md5(id::text)`,
  );
  const population: Population = {
    members,
    discussions: found.map(({ id, path }) => ({ id, path })),
    posts: found.map(({ post }) => post),
    reactions: app
      .service(Reactions)
      .types()
      .flatMap(({ slug, enabled }) => (enabled ? slug : [])),
    categories: openCategories(app).map(({ slug }) => slug),
    words: await wordsOf(app),
  };
  await addTraces(app, population);
  // As the server does by itself some minutes after so much was written.
  await app.data.all(sql`analyze`);
  return population;
}

const openCategories = (app: App) =>
  app
    .service(Categories)
    .all()
    .filter(({ view, reply, create }) => view === 'everyone' && reply === 'members' && create === 'members');

async function addDiscussions(app: App): Promise<void> {
  const texts = await app.data.all(
    sql<{ content: string; html: string }>`select content, html from post limit ${TEXTS}`,
  );
  const titles = await app.data.all(sql<{ title: string }>`select title from discussion`);
  const authors = await app.data.all(sql<{ id: string }>`select id from account where username <> 'bench-admin'`);
  const categories = openCategories(app);
  const now = Date.now();
  const discussionOf = (at: number) => {
    const createdAt = now - DAY * (1 + (300 * (DISCUSSIONS - at)) / DISCUSSIONS);
    const posts = Array.from({ length: POSTS }, (_, post) => ({
      ...pick(texts),
      authorId: pick(authors).id,
      createdAt: new Date(createdAt + (post * DAY) / POSTS),
    }));
    return {
      title: pick(titles).title,
      categoryId: pick(categories).id,
      authorId: posts[0]!.authorId,
      createdAt: posts[0]!.createdAt,
      posts,
    };
  };
  await app.service(Importer).importDiscussions(Array.from({ length: DISCUSSIONS }, (_, at) => discussionOf(at)));
}

async function wordsOf(app: App): Promise<readonly string[]> {
  const rows = await app.data.all(sql<{ content: string }>`select content from post limit ${TEXTS}`);
  return [...new Set(rows.flatMap(({ content }) => content.match(/\b[a-z]{5,12}\b/g) ?? []))];
}

/** By the services, so that all that hangs on them is there. */
async function addTraces(app: App, { members, discussions, posts, reactions }: Population): Promise<void> {
  const [subscriptions, given] = [app.service(Subscriptions), app.service(Reactions)];
  const viewers = await app.service(Accounts).viewers(members.map(({ id }) => id));
  for (const viewer of viewers.values()) {
    const followed = new Set(Array.from({ length: FOLLOWED }, () => pick(discussions).id));
    const reacted = new Set(Array.from({ length: REACTED }, () => pick(posts)));
    await Promise.all([
      ...[...followed].map((id) => subscriptions.set(id, viewer.id!, 'watching')),
      ...[...reacted].map((id) => given.toggle(viewer, id, pick(reactions))),
    ]);
  }
}
