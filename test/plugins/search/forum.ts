import { afterAll, beforeAll } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const GROUPS = { ada: 'member', bob: 'member', mia: 'moderator', root: 'admin' } as const;
type Name = keyof typeof GROUPS;

/** A forum with members, and helpers to write and search. */
export interface Forum {
  readonly app: TestForum;
  readonly guest: Client;
  readonly as: Readonly<Record<Name, Client>>;
  readonly ids: Readonly<Record<Name, string>>;
  start(
    name: Name,
    title: string,
    content: string,
    category?: string,
  ): Promise<{ readonly id: string; readonly number: number; readonly postId: string }>;
  reply(name: Name, discussionId: string, content: string): Promise<{ readonly id: string; readonly number: number }>;
  /** The results for a guest, or for `client`. */
  search(q: string, more?: string, client?: Client): Promise<any[]>;
  titles(q: string, client?: Client): Promise<string[]>;
  /** Resolves when the index has caught up and no background work is pending. */
  settled(): Promise<void>;
}

/** One forum per test file, with its own database. */
export function useForum(settings: Readonly<Record<string, unknown>> = {}): Forum {
  const forum = {} as { -readonly [K in keyof Forum]: Forum[K] };
  beforeAll(async () => Object.assign(forum, await open({ 'search.rate_limit': 100_000, ...settings })));
  afterAll(() => forum.app[Symbol.asyncDispose]());
  return forum;
}

async function open(settings: Readonly<Record<string, unknown>>): Promise<Forum> {
  const app = await startForum({ settings });
  const accounts = app.app.service(Accounts);
  const [as, ids] = [{} as Record<Name, Client>, {} as Record<Name, string>];
  for (const [name, groupId] of Object.entries(GROUPS) as [Name, string][]) {
    ids[name] = (
      await accounts.create({ username: name, email: `${name}@forum.test`, password: PASSWORD, groupId })
    ).id;
    as[name] = app.client();
    await as[name].login(name, PASSWORD);
  }
  const guest = app.client();
  const search = async (q: string, more = '', client = guest): Promise<any[]> =>
    expectStatus(await client.get(`/api/search?q=${encodeURIComponent(q)}${more}`), 200).body.results;
  return {
    app,
    as,
    ids,
    guest,
    search,
    async start(name, title, content, category = 'general') {
      const { discussion, post_id: postId } = expectStatus(
        await as[name].post('/api/discussions', { title, content, category_id: category }),
        201,
      ).body;
      return { id: discussion.id, number: discussion.number, postId };
    },
    async reply(name, discussionId, content) {
      return expectStatus(await as[name].post('/api/posts', { discussion_id: discussionId, content }), 201).body.post;
    },
    titles: async (q, client) => (await search(q, '', client)).map((result) => result.title),
    async settled() {
      const busy = sql`select 1 from search_state where language is null union select 1 from job where failed_at is null and cron is null and run_at < now() + interval '1 minute'`;
      while (await app.app.data.one(busy)) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

/** The response if it has this status, otherwise an error that shows it. */
export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.text.slice(0, 500)}`);
  return answer;
}
