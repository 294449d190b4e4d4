import { definePermission, Type, type Static } from 'parley-forum';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';

/** Why a post is held: its author has few posts, it has many links, or it contains a word from the list. */
export const REASONS = ['first_posts', 'links', 'words'] as const;
export type Reason = (typeof REASONS)[number];

/** The maximum number of held posts per member. */
export const MOST_HELD = 10;

/** A held or rejected post as its author sees it. */
export const HeldPostRecord = Type.Object({
  id: Type.String(),
  status: Type.Enum(['held', 'rejected']),
  discussion_id: nullable(Type.String({ description: 'The discussion it replies to; null if it starts one' })),
  category_id: Type.String(),
  title: Type.String({ description: 'Of the discussion it starts; empty for a reply' }),
  content: Type.String(),
  html: Type.String(),
  created_at: Time,
  reviewed_at: nullable(Time),
  review_reason: Type.String({ description: 'The reason given by the moderator who rejected it; may be empty' }),
});
export type HeldPostRecord = Static<typeof HeldPostRecord>;

/** A held post as moderators see it. */
export const QueuedPostRecord = Type.Object({
  ...HeldPostRecord.properties,
  reason: Type.Enum([...REASONS]),
  author: nullable(Author),
  author_post_count: Type.Integer({ description: 'Published posts of its author that the caller may read' }),
});
export type QueuedPostRecord = Static<typeof QueuedPostRecord>;

export const reviewPosts = definePermission('approval.review', {
  label: 'view, approve and reject held posts',
  default: 'moderator',
});
