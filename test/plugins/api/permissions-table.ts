import { SUBSCRIPTION } from '../push/subscription.ts';
import type { Ask } from './world.ts';

/** Things that belong to ada, each created on request; resolves to its id. */
export interface Things {
  discussion(): Promise<string>;
  post(): Promise<string>;
  deleted(): Promise<string>;
  deletedPost(): Promise<string>;
  tag(): Promise<string>;
  report(): Promise<string>;
  /** By ada, to mia. */
  message(): Promise<string>;
  /** By mia, about a message of ada's. */
  messageReport(): Promise<string>;
  upload(): Promise<string>;
  bookmark(): Promise<string>;
  /** Between ada and mia. */
  conversation(): Promise<string>;
  draft(): Promise<string>;
  device(): Promise<string>;
  heldPost(): Promise<string>;
  discussionOf(post: string): Promise<string>;
  readonly ada: string;
}

/** The callers, in the order of the columns below. */
export const CALLERS = ['guest', 'revoked', 'banned', 'member', 'owner', 'moderator', 'admin'] as const;

type Row = readonly [route: string, statuses: string, ask?: (things: Things) => Ask | Promise<Ask>];

const any = '200 401 200 200 200 200 200';
const id = (params: string) => ({ params: { id: params } });

/** The status that each caller gets from every route of the API. Where it matters, the target is ada's. */
export const TABLE: readonly Row[] = [
  //                                 guest revoked banned member owner moderator admin
  ['GET /version', any],
  ['GET /openapi.json', any],
  ['GET /docs', any],
  ['GET /docs/style.css', any],
  ['POST /markdown/parse', any, () => ({ body: { content: '*x*' } })],

  // Requires a signature, whoever the caller.
  ['POST /webhooks', '401 401 401 401 401 401 401', () => ({ body: { said: 'something' } })],

  ['GET /categories', any],
  ['GET /categories/:id', any, () => id('general')],
  ['GET /discussions', any],
  ['GET /discussions/:id', any, async ({ discussion }) => id(await discussion())],
  ['GET /discussions/:id/posts', any, async ({ discussion }) => id(await discussion())],
  ['GET /discussions/:id/related', any, async ({ discussion }) => id(await discussion())],
  ['GET /discussions/:id/participants', any, async ({ discussion }) => id(await discussion())],
  [
    'POST /discussions',
    '401 401 403 201 201 201 201',
    () => ({ body: { title: 'Mine', content: 'x', category_id: 'general' } }),
  ],
  [
    'PUT /discussions/:id',
    '401 401 403 403 200 200 200',
    async ({ discussion }) => ({ ...id(await discussion()), body: { title: 'Renamed' } }),
  ],
  ['DELETE /discussions/:id', '401 401 403 403 200 200 200', async ({ discussion }) => id(await discussion())],
  [
    'POST /discussions/bulk',
    '401 401 403 403 403 200 200',
    async ({ discussion }) => ({ body: { discussion_ids: [await discussion()], action: 'lock' } }),
  ],
  ['POST /discussions/:id/restore', '401 401 404 404 200 200 200', async ({ deleted }) => id(await deleted())],
  [
    'POST /subscriptions/follow',
    '401 401 403 200 200 200 200',
    () => ({ body: { kind: 'category', subject_id: 'general', following: true } }),
  ],
  [
    'POST /subscriptions/mute',
    '401 401 403 200 200 200 200',
    () => ({ body: { kind: 'category', subject_id: 'general', muted: true } }),
  ],
  ['GET /users/follows', '401 401 200 200 200 200 200'],
  ['GET /users/mutes', '401 401 200 200 200 200 200'],
  [
    'POST /discussions/:id/move-posts',
    '401 401 403 403 403 200 200',
    async ({ post, discussionOf }) => {
      const reply = await post();
      return {
        ...id(await discussionOf(reply)),
        body: { post_ids: [reply], title: 'Apart', category_id: 'general' },
      };
    },
  ],
  [
    'POST /discussions/:id/merge',
    '401 401 403 403 403 200 200',
    async ({ discussion }) => ({ ...id(await discussion()), body: { into: await discussion() } }),
  ],
  ['GET /posts/:id', any, async ({ post }) => id(await post())],
  [
    'POST /posts',
    '401 401 403 201 201 201 201',
    async ({ discussion }) => ({ body: { discussion_id: await discussion(), content: 'x' } }),
  ],
  [
    'PUT /posts/:id',
    '401 401 403 403 200 200 200',
    async ({ post }) => ({ ...id(await post()), body: { content: 'y' } }),
  ],
  ['DELETE /posts/:id', '401 401 403 403 200 200 200', async ({ post }) => id(await post())],
  ['POST /posts/:id/restore', '401 401 404 404 200 200 200', async ({ deletedPost }) => id(await deletedPost())],
  ['GET /posts/:id/revisions', '404 401 404 404 200 200 200', async ({ post }) => id(await post())],

  ['GET /members', '200 401 403 200 200 200 200'],
  ['GET /users/search', any, () => ({ query: { q: 'ada' } })],
  ['GET /users/:id', any, ({ ada }) => id(ada)],
  ['PUT /users/:id', '401 401 403 403 200 403 403', ({ ada }) => ({ ...id(ada), body: { display_name: 'Ada L' } })],
  ['GET /users/:id/profile', any, ({ ada }) => id(ada)],
  ['PUT /users/:id/profile', '401 401 403 403 200 403 403', ({ ada }) => ({ ...id(ada), body: { place: 'Volda' } })],
  ['DELETE /users/:id/profile', '401 401 403 403 403 200 200', ({ ada }) => id(ada)],
  ['PUT /users/:id/avatar', '401 401 403 403 415 403 403', ({ ada }) => ({ ...id(ada), body: {} })],
  ['DELETE /users/:id/avatar', '401 401 403 403 200 403 403', ({ ada }) => id(ada)],
  ['GET /users/discussions', '401 401 403 403 200 403 200', ({ ada }) => ({ query: { user_id: ada } })],
  ['GET /users/posts', '401 401 403 403 200 403 200', ({ ada }) => ({ query: { user_id: ada } })],

  ['GET /users/subscriptions', '401 401 403 403 200 403 200', ({ ada }) => ({ query: { user_id: ada } })],
  [
    'POST /subscriptions/toggle',
    '401 401 403 200 200 200 200',
    async ({ discussion }) => ({ body: { discussion_id: await discussion() } }),
  ],
  ['GET /statistics', '401 401 403 403 403 403 200'],
  ['GET /emoji/picker', any],
  ['GET /events', any],
  ['GET /tags', any],
  ['GET /tags/:id', any, async ({ tag }) => id(await tag())],
  ['GET /tags/:slug/discussions', any, async ({ tag }) => ({ params: { slug: await tag() } })],
  ['GET /notifications', '401 401 200 200 200 200 200'],
  ['GET /notifications/count', '401 401 200 200 200 200 200'],
  ['GET /notifications/preferences', '401 401 200 200 200 200 200'],
  ['PUT /notifications/preferences', '401 401 200 200 200 200 200', () => ({ body: { digest: 'none' } })],
  ['POST /notifications/mark-read', '401 401 200 200 200 200 200'],
  [
    'POST /typing-indicator/typing',
    '401 401 403 200 200 200 200',
    async ({ discussion }) => ({ body: { discussion_id: await discussion() } }),
  ],
  [
    'POST /typing-indicator/stop',
    '401 401 403 200 200 200 200',
    async ({ discussion }) => ({ body: { discussion_id: await discussion() } }),
  ],
  ['GET /typing-indicator/status', any, async ({ discussion }) => ({ query: { discussion_id: await discussion() } })],
  ['GET /session', '401 401 200 200 200 200 200'],
  ['POST /session', '401 401 200 200 200 200 200', () => ({ body: {} })],
  ['GET /live', any],
  [
    'POST /reactions/toggle',
    '401 401 403 200 200 200 200',
    async ({ post }) => ({ body: { post_id: await post(), reaction: 'like' } }),
  ],
  ['GET /reactions/post/:post_id', any, async ({ post }) => ({ params: { post_id: await post() } })],
  [
    'GET /reactions/post/:post_id/members',
    any,
    async ({ post }) => ({ params: { post_id: await post() }, query: { reaction: 'like' } }),
  ],
  [
    'PUT /discussions/:id/answer',
    '401 401 403 403 409 409 409',
    async ({ post, discussionOf }) => {
      const answer = await post();
      return { ...id(await discussionOf(answer)), body: { post_id: answer } };
    },
  ],
  ['DELETE /discussions/:id/answer', '401 401 403 403 404 404 404', async ({ discussion }) => id(await discussion())],
  ['GET /unread', '401 401 200 200 200 200 200'],
  [
    'POST /read-marks',
    '401 401 200 200 200 200 200',
    async ({ discussion }) => ({ body: { read_marks: [{ discussion_id: await discussion(), number: 1 }] } }),
  ],
  ['POST /read-marks/all', '401 401 200 200 200 200 200'],
  ['GET /posts/:id/notes', '401 401 403 403 403 200 200', async ({ post }) => id(await post())],
  [
    'POST /posts/:id/notes',
    '401 401 403 403 403 201 201',
    async ({ post }) => ({ ...id(await post()), body: { content: 'Between us' } }),
  ],
  [
    'DELETE /posts/:id/notes/:note',
    '401 401 403 403 403 404 404',
    async ({ post }) => ({ params: { id: await post(), note: '01890000-0000-7000-8000-000000000000' } }),
  ],
  ['POST /posts/:id/unread', '401 401 200 200 200 200 200', async ({ post }) => id(await post())],
  ['GET /bookmarks', '401 401 200 200 200 200 200'],
  [
    'POST /bookmarks',
    '401 401 201 201 201 201 201',
    async ({ post }) => ({ body: { post_id: await post(), note: 'Later' } }),
  ],
  [
    'PUT /bookmarks/:id',
    '401 401 404 404 200 404 404',
    async ({ bookmark }) => ({ ...id(await bookmark()), body: { note: 'Sooner' } }),
  ],
  ['DELETE /bookmarks/:id', '401 401 404 404 200 404 404', async ({ bookmark }) => id(await bookmark())],
  ['GET /conversations', '401 401 200 200 200 200 200'],
  ['GET /conversations/count', '401 401 200 200 200 200 200'],
  [
    'POST /conversations',
    '401 401 403 201 400 201 201',
    () => ({ body: { to: ['ada'], subject: 'Between us', content: 'x' } }),
  ],
  // Administrators can read only their own.
  ['GET /conversations/:id', '401 401 404 404 200 200 404', async ({ conversation }) => id(await conversation())],
  [
    'PUT /conversations/:id',
    '401 401 404 404 200 200 404',
    async ({ conversation }) => ({ ...id(await conversation()), body: { is_muted: true } }),
  ],
  ['DELETE /conversations/:id', '401 401 404 404 200 200 404', async ({ conversation }) => id(await conversation())],
  [
    'GET /conversations/:id/messages',
    '401 401 404 404 200 200 404',
    async ({ conversation }) => id(await conversation()),
  ],
  [
    'POST /conversations/:id/messages',
    '401 401 404 404 201 201 404',
    async ({ conversation }) => ({ ...id(await conversation()), body: { content: 'y' } }),
  ],
  [
    'POST /conversations/:id/read',
    '401 401 404 404 200 200 404',
    async ({ conversation }) => ({ ...id(await conversation()), body: {} }),
  ],
  ['GET /messages/:id', '401 401 404 404 200 200 404', async ({ message }) => id(await message())],
  [
    'PUT /messages/:id',
    '401 401 404 404 200 403 404',
    async ({ message }) => ({ ...id(await message()), body: { content: 'y' } }),
  ],
  ['DELETE /messages/:id', '401 401 404 404 200 403 404', async ({ message }) => id(await message())],
  ['GET /users/reactions', any, ({ ada }) => ({ query: { user_id: ada } })],
  [
    'POST /reports',
    '401 401 403 201 201 201 201',
    async ({ post }) => ({ body: { post_id: await post(), reason: 'spam' } }),
  ],
  ['GET /reports', '401 401 403 403 403 200 200'],
  [
    'PUT /reports/:id',
    '401 401 403 403 404 200 200',
    async ({ report }) => ({ ...id(await report()), body: { status: 'resolved' } }),
  ],
  [
    'POST /message-reports',
    '401 401 403 404 403 201 404',
    async ({ message }) => ({ body: { message_id: await message(), reason: 'spam' } }),
  ],
  ['GET /message-reports', '401 401 403 403 403 200 200'],
  [
    'PUT /message-reports/:id',
    '401 401 403 403 404 200 200',
    async ({ messageReport }) => ({ ...id(await messageReport()), body: { status: 'resolved' } }),
  ],
  ['GET /held-posts', '401 401 200 200 200 200 200'],
  ['DELETE /held-posts/:id', '401 401 404 404 200 404 404', async ({ heldPost }) => id(await heldPost())],
  ['GET /approval', '401 401 403 403 403 200 200'],
  ['POST /approval/:id/approve', '401 401 403 403 404 200 200', async ({ heldPost }) => id(await heldPost())],
  [
    'POST /approval/:id/reject',
    '401 401 403 403 404 200 200',
    async ({ heldPost }) => ({ ...id(await heldPost()), body: { reason: 'No' } }),
  ],
  ['GET /push/devices', '401 401 200 200 200 200 200'],
  ['POST /push/devices', '401 401 201 201 201 201 201', () => ({ body: SUBSCRIPTION })],
  ['DELETE /push/devices/:id', '401 401 404 404 200 404 404', async ({ device }) => id(await device())],
  ['GET /drafts', '401 401 200 200 200 200 200'],
  ['GET /drafts/:key', '401 401 404 404 200 404 404', async ({ draft }) => ({ params: { key: await draft() } })],
  [
    'PUT /drafts/:key',
    '401 401 200 200 200 200 200',
    async ({ discussion }) => ({
      params: { key: `reply-${await discussion()}` },
      body: { fields: { content: 'Not finished' } },
    }),
  ],
  ['DELETE /drafts/:key', '401 401 200 200 200 200 200', async ({ draft }) => ({ params: { key: await draft() } })],
  ['GET /search', any, () => ({ query: { q: 'boats' } })],
  ['GET /search/similar', '401 401 200 200 200 200 200', () => ({ query: { title: 'boats' } })],
  ['GET /search/suggestions', any, () => ({ query: { q: 'bo' } })],
  ['GET /uploads', '401 401 200 200 200 200 200'],
  // Callers with the permission get the error for a missing file.
  ['POST /uploads', '401 401 403 415 415 415 415', () => ({ body: {} })],
  ['DELETE /uploads/:id', '401 401 403 403 200 200 200', async ({ upload }) => id(await upload())],
  ['GET /presence/stats', any],
  ['GET /presence/visitors', any],
  ['GET /presence/members', any, () => ({ query: { usernames: 'ada' } })],
  ['GET /presence/bots', any],
  ['POST /presence/update', any, () => ({ body: { page: '/' } })],
];
