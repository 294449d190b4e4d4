import { afterAll, beforeAll, expect } from 'vitest';
import { definePlugin, type Environment, type Plugin } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import {
  discussionCreated,
  discussionDeleted,
  discussionUpdated,
  postCreated,
  postDeleted,
  postUpdated,
} from 'parley-forum/plugins/discussions';
import { miscounted, startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';

export const PASSWORD = 'Plain-Sailing-42';
const GROUPS = { ada: 'member', bob: 'member', mia: 'moderator', root: 'admin', bad: 'banned' } as const;
export type Name = keyof typeof GROUPS;

export interface Happening {
  readonly action: string;
  readonly payload: any;
}

/**
 * A forum with two members, a moderator, an admin and a banned member, all logged in; and the actions raised so far.
 */
export interface Forum {
  readonly app: TestForum;
  readonly guest: Client;
  readonly as: Readonly<Record<Name, Client>>;
  readonly ids: Readonly<Record<Name, string>>;
  readonly happened: Happening[];
  start(
    name: Name,
    title: string,
    category?: string,
  ): Promise<{ readonly id: string; readonly number: number; readonly postId: string }>;
  reply(name: Name, discussionId: string, content: string): Promise<any>;
}

/**
 * One forum for a test file, on a database of its own; after the tests, every stored counter must be right.
 */
export function useForum(
  settings: Readonly<Record<string, unknown>> = {},
  environment: Partial<Environment> = {},
): Forum {
  const forum = {} as { -readonly [K in keyof Forum]: Forum[K] };
  beforeAll(async () => Object.assign(forum, await open(settings, environment)));
  afterAll(async () => {
    const wrong = await miscounted(forum.app);
    await forum.app[Symbol.asyncDispose]();
    expect(wrong).toEqual([]);
  });
  return forum;
}

async function open(settings: Readonly<Record<string, unknown>>, environment: Partial<Environment>): Promise<Forum> {
  const app = await startForum({ settings, environment });
  const happened: Happening[] = [];
  await install(app, listener(happened));
  const accounts = app.app.kernel.service(Accounts)!;
  const [as, ids] = [{} as Record<Name, Client>, {} as Record<Name, string>];
  for (const [name, groupId] of Object.entries(GROUPS) as [Name, string][]) {
    ids[name] = (
      await accounts.create({ username: name, email: `${name}@forum.test`, password: PASSWORD, groupId })
    ).id;
    as[name] = app.client();
    await as[name].login(name, PASSWORD);
  }
  return {
    app,
    as,
    ids,
    happened,
    guest: app.client(),
    async start(name, title, category = 'general') {
      const { discussion, post_id: postId } = expectStatus(
        await as[name].post('/api/discussions', { title, content: `About ${title}`, category_id: category }),
        201,
      ).body;
      return { id: discussion.id, number: discussion.number, postId };
    },
    async reply(name, discussionId, content) {
      return expectStatus(await as[name].post('/api/posts', { discussion_id: discussionId, content }), 201).body.post;
    },
  };
}

/** Returns the response if it has this status, and throws an error that shows it otherwise. */
export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.text.slice(0, 500)}`);
  return answer;
}

/** Installs and enables a plugin of the test, in addition to those of the forum. */
export async function install({ app }: TestForum, plugin: Plugin): Promise<void> {
  app.kernel.install(plugin);
  await app.kernel.enable(plugin.id);
}

const listener = (happened: Happening[]): Plugin =>
  definePlugin({
    id: 'test-listener',
    setup(_services, plugin) {
      plugin.on(discussionCreated, ({ discussion }) => {
        happened.push({ action: discussionCreated.id, payload: { discussion } });
      });
      for (const action of [discussionUpdated, discussionDeleted])
        plugin.on(action, (payload) => void happened.push({ action: action.id, payload }));
      for (const action of [postCreated, postUpdated, postDeleted])
        plugin.on(action, (payload) => void happened.push({ action: action.id, payload }));
    },
  });
