import { Type } from 'parley-forum';
import { AcceptedAnswer } from 'parley-forum/plugins/answers';
import { nullable } from 'parley-forum/plugins/api';
import type { Field } from 'parley-forum/plugins/discussions';
import type { AnswerStore } from './answer-store.ts';

/** The `accepted_answer` field of the discussion record. One statement per list, none while it is cached. */
export const answerField = (store: AnswerStore): Field => ({
  name: 'accepted_answer',
  result: nullable(AcceptedAnswer),
  async loadMany(ids) {
    const answers = await store.ofDiscussions(ids);
    return answers.map((answer) =>
      answer ? { post_id: answer.postId, accepted_at: answer.acceptedAt.toISOString() } : null,
    );
  },
});

/**
 * The `is_accepted_answer` field of the post record; an import can set it on one post of a discussion. One statement
 * per page.
 */
export const postField = (store: AnswerStore): Field => ({
  name: 'is_accepted_answer',
  result: Type.Boolean(),
  async loadMany(ids) {
    const accepted = await store.amongPosts(ids);
    return ids.map((id) => accepted.has(id));
  },
  body: Type.Boolean(),
  saveMany: (_em, values) => store.addMany([...values].flatMap(([id, accepted]) => (accepted ? [id] : []))),
});

/** The `asks_for_answers` field of the category record, set in the administrators' form. */
export const categoryField = (store: AnswerStore): Field => ({
  name: 'asks_for_answers',
  result: Type.Boolean(),
  async loadMany(ids) {
    const asking = await store.categories();
    return ids.map((id) => asking.has(id));
  },
  body: Type.Boolean(),
  save: (_em, id, value) => store.ask(id, value as boolean),
});
