import { defineEntity, p } from 'parley-forum';
import type { Audience } from 'parley-forum/plugins/access';

/** Entities for infrequent writes; lists and counting use SQL. */
export const CategoryEntity = defineEntity({
  name: 'Category',
  tableName: 'category',
  properties: {
    id: p.uuid().primary(),
    slug: p.string(),
    name: p.string(),
    description: p.text(),
    parentId: p.uuid().fieldName('parent_id').nullable(),
    hue: p.integer(),
    icon: p.string(),
    position: p.integer(),
    view: p.json<Audience>().fieldName('view_audience'),
    create: p.json<Audience>().fieldName('create_audience'),
    reply: p.json<Audience>().fieldName('reply_audience'),
    createdAt: p.datetime().fieldName('created_at'),
    updatedAt: p.datetime().fieldName('updated_at'),
  },
});

export const DiscussionEntity = defineEntity({
  name: 'Discussion',
  tableName: 'discussion',
  properties: {
    id: p.uuid().primary(),
    number: p.integer(),
    title: p.string(),
    slug: p.string(),
    categoryId: p.uuid().fieldName('category_id'),
    authorId: p.uuid().fieldName('author_id'),
    firstPostId: p.uuid().fieldName('first_post_id'),
    replyCount: p.integer().fieldName('reply_count'),
    isPinned: p.boolean().fieldName('is_pinned'),
    isPinnedEverywhere: p.boolean().fieldName('is_pinned_everywhere'),
    pinnedUntil: p.datetime().fieldName('pinned_until').nullable(),
    isLocked: p.boolean().fieldName('is_locked'),
    lockReason: p.text().fieldName('lock_reason').nullable(),
    createdAt: p.datetime().fieldName('created_at'),
    updatedAt: p.datetime().fieldName('updated_at'),
    deletedAt: p.datetime().fieldName('deleted_at').nullable(),
    deletedBy: p.uuid().fieldName('deleted_by').nullable(),
  },
});

export const PostEntity = defineEntity({
  name: 'Post',
  tableName: 'post',
  properties: {
    id: p.uuid().primary(),
    discussionId: p.uuid().fieldName('discussion_id'),
    number: p.integer(),
    authorId: p.uuid().fieldName('author_id'),
    content: p.text(),
    html: p.text(),
    createdAt: p.datetime().fieldName('created_at'),
    updatedAt: p.datetime().fieldName('updated_at'),
    replyToNumber: p.integer().fieldName('reply_to_number').nullable(),
    editedAt: p.datetime().fieldName('edited_at').nullable(),
    deletedAt: p.datetime().fieldName('deleted_at').nullable(),
    deletedBy: p.uuid().fieldName('deleted_by').nullable(),
  },
});
