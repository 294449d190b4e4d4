import { defineAction, definePermission, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/**
 * The number of reactions to a post per type, in the order of the types; the field `reactions` of a post. `reaction` is
 * the type's slug.
 */
export const ReactionCounts = Type.Array(
  Type.Object({ reaction: Type.String(), count: Type.Integer(), reacted: Type.Boolean() }),
);
export type ReactionCounts = Static<typeof ReactionCounts>;

/** A reaction type; managed by administrators. */
export interface ReactionType {
  readonly slug: string;
  readonly emoji: string;
  readonly label: string;
  readonly position: number;
  /** A disabled type is still shown where it was given, but cannot be given any more. */
  readonly enabled: boolean;
}

/** An administrator created or changed a reaction type. */
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
   * Adds the reaction, or removes it if already given; a member may give several different ones to a post. Throws 404,
   * 400 and 403 as the API does.
   */
  toggle(viewer: Viewer, postId: string, reaction: string): Promise<'added' | 'removed'>;
}
export const Reactions = defineToken<Reactions>('Reactions');

/** Cache tag of everything that shows the reaction types. */
export const reactionsTag = 'reactions';

export const react = definePermission('reactions.react', { label: 'react to posts', default: 'member' });
export const manageReactions = definePermission('reactions.manage', {
  label: 'manage reaction types',
  default: 'admin',
});
