import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

/** The post that answers the question of its discussion. */
export const AcceptedAnswer = Type.Object({ post_id: Type.String(), accepted_at: Time });
export type AcceptedAnswer = Static<typeof AcceptedAnswer>;

interface AnswerPayload {
  readonly discussion_id: string;
  readonly post_id: string;
  /** Who wrote the answer. */
  readonly author_id: string;
  /** Who accepted it, or took it back. */
  readonly by: string;
  /** The question is somebody else’s, so it was a moderator’s act. */
  readonly moderated: boolean;
}
/** A post is the accepted answer now, in place of another one where there was one. Raised in the transaction. */
export const answerAccepted = defineAction<AnswerPayload>('answer.accepted');
/** A post is no longer the accepted answer, and no other one is. Raised in the transaction. */
export const answerWithdrawn = defineAction<AnswerPayload>('answer.withdrawn');

/** Cache tag of whatever shows that a discussion is solved, or that a category asks for answers. */
export const answersTag = 'answers';

export const acceptAnswers = definePermission('answers.accept', {
  label: 'accept an answer to what they ask',
  default: 'member',
});
