import { afterAll, beforeAll, expect, vi } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { DeliveryRecord, WebhookRecord } from 'parley-forum/plugins/webhooks';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { expectStatus } from '../discussions/forum.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const PASSWORD = 'Plain-Sailing-42';
export const JSON_ONLY = { accept: 'application/json' };

export interface WebhookForum {
  readonly app: TestForum;
  readonly guest: Client;
  readonly root: Client;
  readonly mia: Client;
  readonly ada: Client;
  readonly ids: Readonly<Record<string, string>>;
  /** Another service; stopped at the end of the test file. */
  receiver(reply?: Receiver['reply']): Promise<Receiver>;
  /** Saves a webhook and resolves to it with its secret. */
  add(url: string, more?: object): Promise<WebhookRecord & { readonly secret: string }>;
  save(body: object): Promise<any>;
  /** POST to /admin/webhooks/{what}. */
  do(what: string, body: object, status?: number): Promise<any>;
  history(query?: string): Promise<readonly DeliveryRecord[]>;
  start(title: string, category?: string): Promise<{ readonly id: string; readonly postId: string }>;
  reply(discussionId: string, content: string): Promise<any>;
  /** Advances the clock, and logs everyone in again. */
  later(milliseconds: number): Promise<void>;
}

/** A forum that may send to localhost, with short retry delays. */
export function useWebhooks(settings: Readonly<Record<string, unknown>> = {}): WebhookForum {
  const forum = {} as { -readonly [K in keyof WebhookForum]: WebhookForum[K] };
  const receivers: Receiver[] = [];
  beforeAll(async () => {
    const app = await startForum({ realClock: true, environment: { allowedHosts: ['127.0.0.1'] }, settings });
    const ids: Record<string, string> = {};
    const enter = async (name: string, groupId: string): Promise<Client> => {
      ids[name] = (
        await app.app
          .service(Accounts)
          .create({ username: name, email: `${name}@forum.test`, password: PASSWORD, groupId })
      ).id;
      const client = app.client();
      await client.login(name, PASSWORD);
      return client;
    };
    Object.assign(forum, {
      app,
      ids,
      guest: app.client(),
      root: await enter('root', 'admin'),
      mia: await enter('mia', 'moderator'),
      ada: await enter('ada', 'member'),
    });
  });
  afterAll(async () => {
    for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
    await forum.app[Symbol.asyncDispose]();
  });
  forum.receiver = async (reply) => {
    const receiver = await startReceiver(reply);
    receivers.push(receiver);
    return receiver;
  };
  forum.do = async (what, body, status = 200) =>
    expectStatus(await forum.root.post(`/admin/webhooks/${what}`, body, JSON_ONLY), status).body;
  forum.save = (body) => forum.do('save', body, 201);
  forum.add = async (url, more = {}) => {
    const { webhook, secret } = await forum.save({
      name: 'A service',
      url,
      events: ['discussion.created'],
      active: true,
      ...more,
    });
    return { ...webhook, secret };
  };
  forum.history = async (query = '') =>
    expectStatus(await forum.root.get(`/admin/webhooks/history?limit=100&${query}`, JSON_ONLY), 200).body.deliveries;
  forum.start = async (title, category = 'general') => {
    const { body } = expectStatus(
      await forum.root.post('/api/discussions', { title, content: `About ${title}`, category_id: category }),
      201,
    );
    return { id: body.discussion_id, postId: body.post_id };
  };
  forum.reply = async (discussionId, content) =>
    expectStatus(await forum.ada.post('/api/posts', { discussion_id: discussionId, content }), 201).body.post;
  forum.later = async (milliseconds) => {
    forum.app.clock.advance(milliseconds);
    for (const name of ['root', 'mia', 'ada'] as const) await forum[name].login(name, PASSWORD);
  };
  return forum;
}

/** Waits until a check passes, even on a busy machine. */
export const until = (look: () => unknown, timeout = 15_000): Promise<unknown> =>
  vi.waitFor(look, { timeout, interval: 10 });

/** Resolves when no delivery is running or due. */
export const settled = ({ app }: TestForum): Promise<void> =>
  vi.waitFor(
    async () => {
      expect(
        (await app.jobs.report()).filter(
          ({ listener, oldest, running }) =>
            listener.startsWith('webhooks/') && (running > 0 || (oldest && oldest.getTime() <= Date.now())),
        ),
      ).toEqual([]);
    },
    { timeout: 20_000, interval: 10 },
  );
