import { createHash } from 'node:crypto';
import { sql, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionCondition, Narrowing } from 'parley-forum/plugins/discussions';
import type { FollowKind } from 'parley-forum/plugins/subscriptions';
import type { Tags } from 'parley-forum/ports/tags';
import type { Followed, FollowService } from './follow-service.ts';

interface MutingDeps {
  readonly follows: FollowService;
  readonly tags: Tags | undefined;
}

/** Whether none of what is muted is the category, a tag or the author of the discussion `d`. */
function outside(muted: readonly Followed[], tags: Tags | undefined): readonly RawBuilder<boolean>[] {
  const idsOf = (kind: FollowKind): readonly string[] => muted.flatMap((one) => (one.kind === kind ? [one.id] : []));
  const [inCategories, withTags, byMembers] = [idsOf('category'), idsOf('tag'), idsOf('member')];
  return [
    ...(inCategories.length > 0 ? [sql<boolean>`d.category_id <> all(${inCategories}::uuid[])`] : []),
    ...(byMembers.length > 0 ? [sql<boolean>`d.author_id <> all(${byMembers}::uuid[])`] : []),
    ...(tags && withTags.length > 0 ? [sql<boolean>`not (${tags.carriedBy(withTags)})`] : []),
  ];
}

/** Keeps what a member muted out of the lists of the whole forum. */
export class Muting {
  readonly #deps: MutingDeps;

  constructor(deps: MutingDeps) {
    this.#deps = deps;
  }

  /** Undefined for whoever muted nothing. */
  async narrowing({ id }: Viewer): Promise<Narrowing | undefined> {
    if (id === undefined) return undefined;
    const muted = await this.#deps.follows.muted(id);
    if (outside(muted, this.#deps.tags).length === 0) return undefined;
    const names = muted.map((one) => `${one.kind} ${one.id}`).toSorted();
    const key = createHash('sha256').update(names.join()).digest('base64url');
    return { key, where: () => this.#condition(muted) };
  }

  /** Whether the discussion `d` stands outside of all that a member muted. */
  async outside(userId: string): Promise<DiscussionCondition> {
    return this.#condition(await this.#deps.follows.muted(userId));
  }

  #condition(muted: readonly Followed[]): DiscussionCondition {
    const parts = outside(muted, this.#deps.tags);
    return parts.length > 0 ? sql<boolean>`${sql.join(parts, sql` and `)}` : sql<boolean>`true`;
  }
}
