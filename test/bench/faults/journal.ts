import { setTimeout as sleep } from 'node:timers/promises';
import { Findings, within } from './findings.ts';
import type { Forum } from './forum.ts';
import type { Ground } from './scenario.ts';

interface Post {
  readonly id: string;
  readonly discussion_id: string;
  readonly number: number;
  readonly content: string;
}

/** Milliseconds after which a writer that got no answer sends the same again. */
const AGAIN = 100;
/** Milliseconds that a writer rests after an answer in the short form, where fewer posts are enough. */
const REST = 25;
/** Words looked for at once, which is less than a search takes, and fewer posts than a page of results has. */
const WORDS = 12;
/** Seconds within which what follows a post, such as its entry in the log, is there. */
const FOLLOWS = 20;
/** Statuses that say "later", and must say when. */
const LATER = new Set([503, 507]);

/** A word that no other post has: each must end with one, by which it is looked for. */
export const wordOf = (number: number | string): string => `e${number}x`;

/**
 * Members who write one reply after the other, each under an `Idempotency-Key`, and send it again until it is answered.
 */
export class Journal {
  readonly #forum: Forum;
  readonly #rest: number;
  /** Everything that was ever answered with 201, by content. */
  readonly answered = new Map<string, Post>();
  /** How often nobody answered, and how often which refusal came. */
  readonly refused = new Map<string, number>();
  readonly #findings = new Findings();
  #sent = 0;

  constructor(forum: Forum, { long }: Pick<Ground, 'long'>) {
    this.#forum = forum;
    this.#rest = long ? 0 : REST;
  }

  /**
   * Writes until `signal` aborts, then finishes what is pending. `urls`: the processes written to in turn.
   */
  async write(writers: number, signal: AbortSignal, urls = (): readonly string[] => [this.#forum.url]): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (!signal.aborted && !this.#forum.closed) {
          await this.#enter(urls);
          await sleep(this.#rest);
        }
      }),
    );
  }

  async #enter(urls: () => readonly string[]): Promise<void> {
    const number = ++this.#sent;
    const content = `Journal entry ${wordOf(number)}`;
    const discussion = this.#forum.discussions[number % this.#forum.discussions.length];
    // A fault that broke off has closed the forum under its writers.
    for (let attempt = 0; !this.#forum.closed; attempt++) {
      const all = urls();
      const url = all[(number + attempt) % all.length]!;
      const response = await this.#forum
        .call('/api/posts', {
          method: 'POST',
          body: { discussion_id: discussion, content },
          key: `entry ${number}`,
          url,
        })
        .then(
          async (got) => ({ status: got.status, later: got.headers.get('retry-after'), text: await got.text() }),
          () => undefined,
        );
      if (response?.status === 201)
        return void this.answered.set(content, (JSON.parse(response.text) as { post: Post }).post);
      this.#count(response ? String(response.status) : 'no answer');
      if (response) this.#later(response);
      await sleep(AGAIN);
    }
  }

  #later({ status, later, text }: { status: number; later: string | null; text: string }): void {
    this.#findings.check(LATER.has(status), `a writer was answered ${status}: ${text.split('"request_id"')[0]}`);
    this.#findings.check(Number(later) > 0, `${status} without Retry-After`);
    this.#findings.check(text.includes('"success":false'), `${status} without the envelope`);
  }

  #count(what: string): void {
    this.refused.set(what, (this.refused.get(what) ?? 0) + 1);
  }

  /** What was lost or doubled, or is counted or followed wrongly, up to now; nobody may be writing. */
  async lost(): Promise<readonly string[]> {
    const found = this.#findings;
    const all: Post[] = [];
    for (const discussion of this.#forum.discussions) all.push(...(await this.#discussion(discussion, found)));
    const replies = all.filter(({ number }) => number > 1);
    const ids = new Set(replies.map(({ id }) => id));
    const general = (await this.#forum.get('/api/categories/general')).category;
    found.equal(
      [general.discussion_count, general.post_count],
      [this.#forum.discussions.length, all.length],
      'what the category counts',
    );
    const { discussion } = await this.#forum.get(`/api/discussions/${this.#forum.discussions[0]}`);
    const { user } = await this.#forum.get(`/api/users/${discussion.author.id}`);
    found.equal(
      [user.discussion_count, user.post_count],
      [this.#forum.discussions.length, all.length],
      'what the member counts',
    );
    await this.#follows('the search index', ids, found, () => this.#searched(replies));
    await this.#follows('the event log', ids, found, () => this.#logged());
    return found.lost;
  }

  async #discussion(discussion: string, found: Findings): Promise<readonly Post[]> {
    const posts: Post[] = await this.#all(`/api/discussions/${discussion}/posts?limit=100`, 'posts');
    found.equal(
      posts.map(({ number }) => number),
      posts.map((_, at) => at + 1),
      `the numbers in discussion ${discussion}`,
    );
    found.equal(
      posts.length - new Set(posts.map(({ content }) => content)).size,
      0,
      `doubled posts in discussion ${discussion}`,
    );
    const there = new Map(posts.map((post) => [post.id, post]));
    for (const post of this.answered.values()) {
      if (post.discussion_id === discussion)
        found.check(there.get(post.id)?.content === post.content, `"${post.content}" was answered and is gone`);
    }
    const {
      discussion: { reply_count },
    } = await this.#forum.get(`/api/discussions/${discussion}`);
    found.equal(reply_count, posts.length - 1, `reply_count of discussion ${discussion}`);
    return posts;
  }

  async #follows(
    what: string,
    expected: ReadonlySet<string>,
    found: Findings,
    read: () => Promise<readonly string[]>,
  ): Promise<void> {
    let ids: readonly string[] = [];
    await within(FOLLOWS, async () => {
      ids = await read();
      return ids.length === expected.size;
    });
    const missing = [...expected].filter((id) => !ids.includes(id)).length;
    found.equal([missing, ids.length - expected.size], [0, 0], `${what}: posts missing, posts too many`);
  }

  async #searched(posts: readonly Post[]): Promise<readonly string[]> {
    const words = posts.map(({ content }) => content.split(' ').at(-1)!);
    const found: string[] = [];
    for (let at = 0; at < words.length; at += WORDS) {
      const query = encodeURIComponent(words.slice(at, at + WORDS).join(' or '));
      const { results } = await this.#forum.get(`/api/search?q=${query}&type=posts&limit=100`);
      found.push(...(results as { id: string }[]).map(({ id }) => id));
    }
    return found;
  }

  async #logged(): Promise<readonly string[]> {
    const events: { data: { post: Post } }[] = await this.#all('/api/events?event=post.created&limit=100', 'events');
    return events.map(({ data: { post } }) => post.id);
  }

  async #all<T>(path: string, list: string): Promise<T[]> {
    const items: T[] = [];
    for (let more = true; more;) {
      const page = await this.#forum.get(`${path}&offset=${items.length}`);
      items.push(...page[list]);
      more = page.hasMore && page[list].length > 0;
    }
    return items;
  }
}
