import { defineAction, definePermission, Type, type Static } from 'parley-forum';

/** A tag beside a discussion: the field `tags` of its record. */
export const TagReference = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() });
export type TagReference = Static<typeof TagReference>;

/** An administrator made, renamed or coloured a tag. Tags that writers create by using them raise nothing. */
export const tagSaved = defineAction<{
  readonly id: string;
  readonly name: string;
  readonly actor: string | undefined;
}>('tag.saved');
export const createTags = definePermission('tags.create', { label: 'create tags by using them', default: 'member' });
export const manageTags = definePermission('tags.manage', { label: 'rename, merge and delete tags', default: 'admin' });
