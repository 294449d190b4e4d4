import { defineToken, Type, type Static } from 'parley-forum';

export const Typist = Type.Object({ id: Type.String(), username: Type.String() });
export type Typist = Static<typeof Typist>;
/**
 * What the signal `typing` on the live streams says: somebody gave a sign of writing, or stopped. A sign holds for 8 s.
 */
export interface TypingSignal {
  readonly discussion_id: string;
  readonly user: Typist;
  readonly typing: boolean;
}

/** Who is writing in a discussion: said within the last 8 s, over all processes with Redis. Asks for no rights. */
export interface Typing {
  typists(discussionId: string): Promise<readonly Typist[]>;
}
export const Typing = defineToken<Typing>('Typing');

/** Cache tag of what shows who is writing. */
export const typingTag = 'typing';
