import { Type, type Static } from 'parley-forum';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';

/** The maximum length of a note, in characters. */
export const MAX_NOTE = 500;

/** The orders of a list: by creation time, or by next reminder, with bookmarks without one last. */
export const SORTS = ['newest', 'oldest', 'reminder'] as const;
export type Sort = (typeof SORTS)[number];

/** A member's own bookmark, with the post it points to. */
export const BookmarkRecord = Type.Object({
  id: Type.String(),
  note: Type.String(),
  remind_at: nullable(Time),
  /** When the last reminder was sent. */
  reminded_at: nullable(Time),
  created_at: Time,
  post: Type.Object({
    id: Type.String(),
    number: Type.Integer(),
    excerpt: Type.String(),
    url: Type.String(),
    author: Author,
    created_at: Time,
  }),
  discussion: Type.Object({ id: Type.String(), number: Type.Integer(), title: Type.String(), url: Type.String() }),
});
export type BookmarkRecord = Static<typeof BookmarkRecord>;
