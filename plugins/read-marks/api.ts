import { Type, type Static } from 'parley-forum';

/** How far a member has read in one discussion. */
export const ReadMark = Type.Object({
  discussion_id: Type.String(),
  last_read_number: Type.Integer({
    description: 'The greatest number of a post that the member has seen; 0: none yet',
  }),
  unread_count: Type.Integer({ description: 'Posts behind it that are not deleted; 0 in what is muted or old' }),
});
export type ReadMark = Static<typeof ReadMark>;
