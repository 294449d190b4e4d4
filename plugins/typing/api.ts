import { defineToken } from '#core';

export interface Typist {
  readonly id: string;
  readonly username: string;
}
/** Who is writing in a discussion: said within the last 8 s, over all processes with Redis. */
export interface Typing {
  typists(discussionId: string): Promise<readonly Typist[]>;
}
export const Typing = defineToken<Typing>('Typing');
