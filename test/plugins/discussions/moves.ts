import type { Answer } from 'parley-forum/testing';
import { expectStatus, type Forum, type Name } from './forum.ts';

interface Talk {
  readonly id: string;
  readonly number: number;
  readonly postId: string;
  /** Its replies. */
  readonly replies: readonly any[];
}
export interface Moves {
  /** A discussion of ada’s, with replies by these members. */
  talk(title: string, people: readonly Name[], category?: string): Promise<Talk>;
  move(from: { readonly id: string }, body: object, name?: Name): Promise<Answer>;
  merge(from: { readonly id: string }, into: { readonly id: string }, name?: Name): Promise<Answer>;
  /** A discussion with all its posts, as a guest or that member sees it. */
  shown(discussion: { readonly id: string }, name?: Name): Promise<any>;
  /** Where a path redirects, or its status. */
  leads(path: string, name?: Name): Promise<string | number>;
}

/** Moving posts from one discussion to another, as a moderator does. */
export const movesIn = (forum: Forum): Moves => ({
  async talk(title, people, category) {
    const started = await forum.start('ada', title, category);
    const replies: any[] = [];
    for (const [at, name] of people.entries())
      replies.push(await forum.reply(name, started.id, `${title}, post ${at + 2}`));
    return { ...started, replies };
  },
  move: (from, body, name = 'mia') => forum.as[name].post(`/api/discussions/${from.id}/move-posts`, body),
  merge: (from, into, name = 'mia') => forum.as[name].post(`/api/discussions/${from.id}/merge`, { into: into.id }),
  async shown({ id }, name) {
    const client = name ? forum.as[name] : forum.guest;
    return expectStatus(await client.get(`/api/discussions/${id}?limit=100`), 200).body;
  },
  async leads(path, name) {
    const { status, headers } = await (name ? forum.as[name] : forum.guest).get(path);
    return headers.get('location') ?? status;
  },
});
