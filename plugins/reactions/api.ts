import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * What all reacted to one post, by the order of the types; the field `reactions` of a post. `reaction` is the type's
 * slug.
 */
export const ReactionCounts = Type.Array(
  Type.Object({ reaction: Type.String(), count: Type.Integer(), reacted: Type.Boolean() }),
);
export type ReactionCounts = Static<typeof ReactionCounts>;

/** A kind of reaction; administrators manage them. */
export interface ReactionType {
  readonly slug: string;
  readonly emoji: string;
  readonly label: string;
  readonly position: number;
  /** A disabled one is shown where it was given and cannot be given any more. */
  readonly enabled: boolean;
}

/** An administrator made or changed a kind of reaction. */
export const reactionTypeSaved = defineAction<{
  readonly slug: string;
  readonly enabled: boolean;
  readonly actor: string | undefined;
}>('reaction-type.saved');

/** Reactions to posts. */
export interface Reactions {
  /** By position, then by slug. */
  types(): readonly ReactionType[];
  /**
   * Gives the reaction, or takes it back; several different ones may stand on one post. 404, 400 and 403 as the API
   * answers.
   */
  toggle(viewer: Viewer, postId: string, reaction: string): Promise<'added' | 'removed'>;
}
export const Reactions = defineToken<Reactions>('Reactions');

/** Cache tag of whatever shows the kinds of reactions. */
export const reactionsTag = 'reactions';

export const react = definePermission('reactions.react', { label: 'react to posts', default: 'member' });
export const manageReactions = definePermission('reactions.manage', {
  label: 'manage the kinds of reactions',
  default: 'admin',
});
