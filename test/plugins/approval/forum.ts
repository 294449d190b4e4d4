import { Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Answer, Client } from 'parley-forum/testing';
import { expectStatus, PASSWORD, useForum, type Forum, type Name } from '../discussions/forum.ts';

/** Helpers for tests of approval. */
export interface Approval {
  readonly forum: Forum;
  reply(client: Client, discussionId: string, content: string, headers?: Record<string, string>): Promise<Answer>;
  discuss(client: Client, title: string, more?: object): Promise<Answer>;
  /** The id of the held post. */
  held(answer: Promise<Answer>): Promise<string>;
  queue(name?: Name): Promise<any[]>;
  own(client: Client): Promise<any[]>;
  approve(name: Name, id: string): Promise<Answer>;
  reject(name: Name, id: string, reason?: string): Promise<Answer>;
  set(values: Readonly<Record<string, unknown>>): Promise<void>;
  /** A member who has just signed up. */
  newcomer(username: string): Promise<{ readonly client: Client; readonly id: string }>;
}

export function useApproval(settings: Readonly<Record<string, unknown>> = { 'approval.first_posts': 2 }): Approval {
  const forum = useForum(settings);
  return {
    forum,
    reply: (client, discussionId, content, headers) =>
      client.post('/api/posts', { discussion_id: discussionId, content }, headers),
    discuss: (client, title, more = {}) =>
      client.post('/api/discussions', { title, content: `About ${title}`, category_id: 'general', ...more }),
    held: async (answer) => expectStatus(await answer, 202).body.held_post.id,
    queue: async (name = 'mia') =>
      expectStatus(await forum.as[name].get('/api/approval?limit=100'), 200).body.held_posts,
    own: async (client) => expectStatus(await client.get('/api/held-posts?limit=100'), 200).body.held_posts,
    approve: (name, id) => forum.as[name].post(`/api/approval/${id}/approve`),
    reject: (name, id, reason) =>
      forum.as[name].post(`/api/approval/${id}/reject`, reason === undefined ? {} : { reason }),
    set: (values) => forum.app.app.service(Settings).set(values),
    async newcomer(username) {
      const { id } = await forum.app.app
        .service(Accounts)
        .create({ username, email: `${username}@forum.test`, password: PASSWORD, groupId: 'member' });
      const client = forum.app.client();
      await client.login(username, PASSWORD);
      return { client, id };
    },
  };
}
