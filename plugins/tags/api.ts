import { defineAction, definePermission, Type, type Static } from 'parley-forum';

/** A tag as discussion records refer to it, in the field `tags`. */
export const TagReference = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() });
export type TagReference = Static<typeof TagReference>;

/** An administrator created, renamed or recoloured a tag. Not raised for tags that authors create by using them. */
export const tagSaved = defineAction<{
  readonly id: string;
  readonly name: string;
  readonly actor: string | undefined;
}>('tag.saved');
export const createTags = definePermission('tags.create', { label: 'create tags by using them', default: 'member' });
export const manageTags = definePermission('tags.manage', { label: 'rename, merge and delete tags', default: 'admin' });
