import { defineAction, defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionCondition, DiscussionIds } from 'parley-forum/plugins/discussions';

/** A tag as the API shows it. `discussion_count` counts what the caller may see. */
export const TagRecord = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  /** Degrees on the colour wheel in steps of 15; the theme sets the lightness. */
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

/** A tag was deleted. `into`: the id of the tag its discussions were moved to. */
export const tagDeleted = defineAction<{
  readonly id: string;
  readonly into: string | undefined;
  readonly actor: string | undefined;
}>('tag.deleted');

/** Tags as one viewer sees them: a tag exists only for those who may see a discussion with it. */
export interface Tags {
  /** Sorted by name. `categoryIds`: only tags of discussions in these categories. */
  visible(viewer: Viewer, categoryIds?: readonly string[]): Promise<readonly TagRecord[]>;
  /** Finds one of the visible tags by id or slug. */
  find(idOrSlug: string, viewer: Viewer, categoryIds?: readonly string[]): Promise<TagRecord | undefined>;
  /** Ids of the tags of a discussion, regardless of who may see it. */
  idsOf(discussionId: string): Promise<readonly string[]>;
  /**
   * All discussions with the tag, for `ListRequest.within` and other plugins' statements. Checks no permissions:
   * `Discussions.visible` does.
   */
  discussionsWith(tagId: string): DiscussionIds;
  /** A condition for discussions that have one of these tags. */
  carriedBy(tagIds: readonly string[]): DiscussionCondition;
}
export const Tags = defineToken<Tags>('Tags');

/** Cache tag of everything that shows the names of tags. */
export const tagsTag = 'tags';
