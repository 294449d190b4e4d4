import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { nullable, Time } from 'parley-forum/plugins/api';

const Option = Type.Object({ text: Type.String(), votes: Type.Integer() });

/** A poll as the API shows it. */
export const Poll = Type.Object({
  options: Type.Array(Option),
  votes: Type.Integer(),
  closes_at: Time,
  is_closed: Type.Boolean(),
  choice: nullable(Type.Integer({ description: 'Which of the options the caller voted for, from 0' })),
});
export type Poll = Static<typeof Poll>;

/** Other plugins come here by listing `Polls` under `needs` or `wants`. */
export interface Polls {
  /** One for each discussion, in order; null where there is none. One statement. */
  ofDiscussions(ids: readonly string[], viewer: Viewer): Promise<readonly (Poll | null)[]>;
  /** In place of the viewer's earlier vote. 404 without a poll, 409 once it is closed, 400 for no option of it. */
  vote(discussionId: string, option: number, viewer: Viewer): Promise<Poll>;
}
export const Polls = defineToken<Polls>('Polls');

/** A poll is over; raised once. */
export const pollClosed = defineAction<PollClosed>('poll.closed', {
  public: Type.Object({
    poll: Type.Object({ discussion_id: Type.String(), options: Type.Array(Option), votes: Type.Integer() }),
  }),
});
export interface PollClosed {
  readonly poll: { readonly discussion_id: string; readonly options: Poll['options']; readonly votes: number };
  /** Who began it; not public. */
  readonly authorId: string;
}

export const vote = definePermission('polls.vote', { label: 'vote in polls', default: 'member' });
