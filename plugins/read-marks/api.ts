import { Type, type Static } from 'parley-forum';

/** How far a member has read in one discussion. */
export const ReadMark = Type.Object({
  discussion_id: Type.String(),
  last_read_number: Type.Integer({
    description: 'The highest number of a post that the member has seen; 0: none yet',
  }),
  unread_count: Type.Integer({ description: 'Later posts that are not deleted; 0 in muted or old discussions' }),
});
export type ReadMark = Static<typeof ReadMark>;
