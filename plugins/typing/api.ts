import { defineToken, Type, type Static } from 'parley-forum';
import { nullable } from 'parley-forum/plugins/api';

export const Typist = Type.Object({
  id: Type.String(),
  username: Type.String(),
  display_name: nullable(Type.String()),
});
export type Typist = Static<typeof Typist>;
/**
 * The payload of the signal `typing` on the live stream: a member is writing, or stopped. A signal is valid for 8 s.
 */
export interface TypingSignal {
  readonly discussion_id: string;
  readonly user: Typist;
  readonly typing: boolean;
}

/**
 * Tells who has signalled within the last 8 s that they are writing in a discussion; with Redis, across all processes.
 * Checks no permissions.
 */
export interface Typing {
  typists(discussionId: string): Promise<readonly Typist[]>;
}
export const Typing = defineToken<Typing>('Typing');

/** Cache tag of everything that shows who is writing. */
export const typingTag = 'typing';
