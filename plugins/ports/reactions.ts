import { defineAction } from 'parley-forum';

/** A member reacted to a post. Removing a reaction raises no action. */
export const reactionAdded = defineAction<{
  readonly reaction: string;
  readonly emoji: string;
  readonly post_id: string;
  readonly discussion_id: string;
  /** The author of the post. */
  readonly author_id: string;
  readonly actor: { readonly id: string; readonly username: string };
}>('reaction.added');
