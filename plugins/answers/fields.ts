import { Type } from 'parley-forum';
import { AcceptedAnswer } from 'parley-forum/plugins/answers';
import { nullable } from 'parley-forum/plugins/api';
import type { Field } from 'parley-forum/plugins/discussions';
import type { AnswerStore } from './answer-store.ts';

/** `accepted_answer` of the discussion record. One statement a list, none while it is cached. */
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

/** `is_accepted_answer` of the post record; an import says it of one post of a discussion. One statement a page. */
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

/** `asks_for_answers` of the category record, from the administrators' form. */
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
