import { sql } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionCondition, DiscussionIds } from 'parley-forum/plugins/discussions';
import type { TagRecord, Tags } from 'parley-forum/ports/tags';
import type { Assignments } from './assignments.ts';
import type { TagCounts } from './tag-counts.ts';
import type { TagService } from './tag-service.ts';

/** The tags each viewer may see: those used by discussions in categories visible to them. */
export class VisibleTags implements Tags {
  readonly #tags: TagService;
  readonly #counts: TagCounts;
  readonly #assignments: Assignments;

  constructor(tags: TagService, counts: TagCounts, assignments: Assignments) {
    this.#tags = tags;
    this.#counts = counts;
    this.#assignments = assignments;
  }

  async visible(viewer: Viewer, categoryIds?: readonly string[]): Promise<readonly TagRecord[]> {
    await this.#tags.refresh();
    const records = await this.#counts.records(this.#tags.all(), viewer, categoryIds);
    return records.filter(({ discussion_count: discussions }) => discussions > 0);
  }

  async find(idOrSlug: string, viewer: Viewer, categoryIds?: readonly string[]): Promise<TagRecord | undefined> {
    await this.#tags.refresh();
    const tag = this.#tags.find(idOrSlug);
    const [record] = tag ? await this.#counts.records([tag], viewer, categoryIds) : [];
    return record && record.discussion_count > 0 ? record : undefined;
  }

  async idsOf(discussionId: string): Promise<readonly string[]> {
    const [references = []] = await this.#assignments.of([discussionId]);
    return references.map(({ id }) => id);
  }

  discussionsWith(tagId: string): DiscussionIds {
    return sql`select discussion_id from discussion_tag where tag_id = ${tagId}`;
  }

  carriedBy(tagIds: readonly string[]): DiscussionCondition {
    return sql<boolean>`exists (select from discussion_tag t where t.discussion_id = d.id
      and t.tag_id = any(${tagIds}::uuid[]))`;
  }
}
