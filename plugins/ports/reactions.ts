import { defineAction, Type, type Static } from 'parley-forum';

/** The public payload of a reaction. */
const ReactionEvent = Type.Object({
  reaction: Type.String({ description: 'Slug of its kind' }),
  emoji: Type.String(),
  post_id: Type.String(),
  discussion_id: Type.String(),
  author_id: Type.String({ description: 'Author of the post' }),
  actor: Type.Object({ id: Type.String(), username: Type.String() }),
});
type ReactionEvent = Readonly<Static<typeof ReactionEvent>>;

/** A member reacted to a post. Raised in the transaction. */
export const reactionAdded = defineAction<ReactionEvent>('reaction.added', { public: ReactionEvent });
/** A member took back a reaction to a post. Raised in the transaction. */
export const reactionRemoved = defineAction<ReactionEvent>('reaction.removed', { public: ReactionEvent });
