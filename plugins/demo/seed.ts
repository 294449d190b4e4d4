import { ConfigurationError, type Console } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Amounts } from 'parley-forum/plugins/demo';
import type { Categories, ImportedDiscussion, Importer } from 'parley-forum/plugins/discussions';
import { Random } from './random.ts';
import { endings, names, openings, paragraphs, subjects } from './words.ts';

export interface SeedDeps {
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly importer: Importer;
}
type Paragraph = Awaited<ReturnType<Importer['acceptContent']>>;

/** The number of members written at once. */
const BATCH = 1_000;
const DAY = 86_400_000;
/** Days over which the discussions are spread. */
const YEARS = 3 * 365;
/** The maximum number of milliseconds between two posts. */
const PAUSE = 9 * 3_600_000;

/** Adds `amounts` of content to what exists. Each paragraph is rendered once, not once per post. */
export async function seed(
  deps: SeedDeps,
  amounts: Amounts,
  console: Pick<Console, 'print' | 'progress' | 'columns'>,
): Promise<void> {
  const { categories, importer } = deps;
  const open = categories
    .all()
    .filter(({ view, create }) => view === 'everyone' && create !== 'staff')
    .map(({ id }) => id);
  if (open.length === 0)
    throw new ConfigurationError(
      'There is no category that everyone may read and members may write in; install first, or create one at /admin/categories',
    );
  if (amounts.posts < amounts.discussions)
    throw new ConfigurationError(
      `--posts ${amounts.posts} is fewer than --discussions ${amounts.discussions}; every discussion has a first post`,
    );
  const begun = Date.now();
  const authors = await writeUsers(deps.accounts, amounts.users, begun, console);
  const texts = await Promise.all(paragraphs.map((content) => importer.acceptContent(content)));
  const stream = discussionsOf({ amounts, open, authors, texts, now: begun });
  const written = await importer.importDiscussions(stream, {
    progress: (_discussions, posts) => console.progress(bar('posts', posts, amounts.posts, console.columns)),
  });
  const seconds = Math.max(1, Math.round((Date.now() - begun) / 1_000));
  console.print(
    `${authors.length} members, ${written.discussions} discussions, ${written.posts} posts in ${seconds} s.`,
  );
}

/** Usernames contain the time of the run, so that a second run adds different members. */
async function writeUsers(
  accounts: Accounts,
  count: number,
  now: number,
  console: Pick<Console, 'progress' | 'columns'>,
): Promise<readonly string[]> {
  const random = new Random(count);
  const run = now.toString(36);
  const ids: string[] = [];
  while (ids.length < count) {
    const batch = Array.from({ length: Math.min(BATCH, count - ids.length) }, (_, at) => {
      const username = `${random.pick(names)}_${run}${(ids.length + at).toString(36)}`;
      return {
        username,
        email: `${username}@load.example`,
        joinedAt: new Date(now - (YEARS + random.below(365)) * DAY),
      };
    });
    ids.push(...(await accounts.importAccounts(batch)));
    console.progress(bar('members', ids.length, count, console.columns));
  }
  return ids;
}

interface Plan {
  readonly amounts: Amounts;
  /** Ids of the categories to write in. */
  readonly open: readonly string[];
  readonly authors: readonly string[];
  readonly texts: readonly Paragraph[];
  readonly now: number;
}

/** Oldest first, generated while they are written, so that only one batch is ever in memory. */
function* discussionsOf({ amounts, open, authors, texts, now }: Plan): Generator<ImportedDiscussion> {
  const random = new Random(amounts.discussions + amounts.posts);
  const sizes = sizesOf(amounts, random);
  const spread = (YEARS * DAY) / Math.max(1, amounts.discussions);
  for (const [at, size] of sizes.entries()) {
    const createdAt = now - YEARS * DAY + at * spread;
    const title = `${random.pick(openings)} ${random.pick(subjects)} ${random.pick(endings)}`;
    let time = createdAt;
    const posts = Array.from({ length: size }, (_, number) => {
      // Pauses shrink as little time is left, so that no post is in the future.
      if (number > 0) time += Math.min(random.below(PAUSE), (now - time) / 2);
      return { authorId: random.pickEarly(authors), ...textOf(texts, random), createdAt: new Date(time) };
    });
    const views = size * 8 + random.below(400);
    yield {
      title,
      categoryId: random.pick(open),
      authorId: posts[0]!.authorId,
      createdAt: new Date(createdAt),
      views,
      pinned: false,
      locked: random.next() < 0.01,
      posts,
    };
  }
}

function textOf(texts: readonly Paragraph[], random: Random): Paragraph {
  const first = random.pick(texts);
  if (random.next() < 0.4) return first;
  const second = random.pick(texts);
  return { content: `${first.content}\n\n${second.content}`, html: `${first.html}${second.html}` };
}

/** The number of posts per discussion: most have few, some have very many, and the total is exact. */
function sizesOf({ discussions, posts }: Amounts, random: Random): readonly number[] {
  const weights = Array.from({ length: discussions }, () => (1 - random.next()) ** -0.7 - 0.9);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const replies = posts - discussions;
  let weighed = 0;
  let given = 0;
  return weights.map((weight, at) => {
    weighed += weight;
    const share = at === discussions - 1 ? replies - given : Math.floor((weighed / whole) * replies) - given;
    given += share;
    return 1 + share;
  });
}

function bar(what: string, done: number, total: number, columns: number): string {
  const label = ` ${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${what}`;
  const width = Math.max(10, Math.min(40, columns - label.length - 4));
  const filled = Math.round((done / Math.max(1, total)) * width);
  return `[${'='.repeat(filled)}${' '.repeat(width - filled)}]${label}`;
}
