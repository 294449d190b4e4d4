import { defineAction, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionCondition, DiscussionIds } from 'parley-forum/plugins/discussions';

/** A tag as the API shows it. `discussion_count` counts what the caller may see. */
export const TagRecord = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  /** Degrees on the colour wheel in steps of 15; lightness belongs to the theme. */
  hue: Type.Integer(),
  discussion_count: Type.Integer(),
});
export type TagRecord = Static<typeof TagRecord>;
export interface Tag {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly hue: number;
}

/** `into`: the id of the tag that took its discussions. */
export const tagDeleted = defineAction<{
  readonly id: string;
  readonly into: string | undefined;
  readonly actor: string | undefined;
}>('tag.deleted');

/** Tags as one viewer sees them: a tag exists only for those who may see a discussion with it. */
export interface Tags {
  /** In the order of their names. `categoryIds`: only what discussions of these categories show. */
  visible(viewer: Viewer, categoryIds?: readonly string[]): Promise<readonly TagRecord[]>;
  /** By id or slug, among those. */
  find(idOrSlug: string, viewer: Viewer, categoryIds?: readonly string[]): Promise<TagRecord | undefined>;
  /** Ids of the tags of a discussion, whoever may see it. */
  idsOf(discussionId: string): Promise<readonly string[]>;
  /**
   * All discussions with the tag, for `ListRequest.within` and other plugins' statements. It checks no permissions:
   * `Discussions.visible` does.
   */
  discussionsWith(tagId: string): DiscussionIds;
  /** Whether a discussion has one of these tags. */
  carriedBy(tagIds: readonly string[]): DiscussionCondition;
}
export const Tags = defineToken<Tags>('Tags');

/** Cache tag of whatever shows names of tags. */
export const tagsTag = 'tags';
