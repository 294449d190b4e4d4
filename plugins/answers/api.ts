import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

/** The post that answers the question of its discussion. */
export const AcceptedAnswer = Type.Object({ post_id: Type.String(), accepted_at: Time });
export type AcceptedAnswer = Static<typeof AcceptedAnswer>;

/** The public payload of the actions below; pages do not say who decided either. */
const AnswerEvent = Type.Object({
  discussion_id: Type.String(),
  post_id: Type.String(),
  author_id: Type.String({ description: 'Author of the answer' }),
});
interface AnswerPayload extends Readonly<Static<typeof AnswerEvent>> {
  /** The member who accepted the answer or withdrew the acceptance. */
  readonly by: string;
  /** True if that member did not ask the question, so it was a moderator's act. */
  readonly moderated: boolean;
}
/** A post became the accepted answer, possibly replacing another one. Raised in the transaction. */
export const answerAccepted = defineAction<AnswerPayload>('answer.accepted', { public: AnswerEvent });
/** A post is no longer the accepted answer, and no other one replaced it. Raised in the transaction. */
export const answerWithdrawn = defineAction<AnswerPayload>('answer.withdrawn', { public: AnswerEvent });

/** Cache tag of everything that shows whether a discussion is solved or a category asks for answers. */
export const answersTag = 'answers';

export const acceptAnswers = definePermission('answers.accept', {
  label: 'accept answers to own questions',
  default: 'member',
});
