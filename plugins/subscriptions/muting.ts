import { createHash } from 'node:crypto';
import { sql } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionCondition, Narrowing } from 'parley-forum/plugins/discussions';
import type { FollowKind } from 'parley-forum/plugins/subscriptions';
import type { Tags } from 'parley-forum/ports/tags';
import type { Followed, FollowService } from './follow-service.ts';

/** The page that lists everything muted, where it can be unmuted. */
export const MUTED = '/settings/muted';

interface MutingDeps {
  readonly follows: FollowService;
  readonly tags: Tags | undefined;
}

const idsOf = (muted: readonly Followed[], kind: FollowKind): readonly string[] =>
  muted.flatMap((one) => (one.kind === kind ? [one.id] : []));
const all = (conditions: readonly DiscussionCondition[]): DiscussionCondition | undefined =>
  conditions.length > 0 ? sql<boolean>`${sql.join(conditions, sql` and `)}` : undefined;

/** Keeps what a member muted out of the forum-wide lists. */
export class Muting {
  readonly #deps: MutingDeps;

  constructor(deps: MutingDeps) {
    this.#deps = deps;
  }

  /** Undefined for members who muted nothing, and for guests. */
  async narrowing({ id }: Pick<Viewer, 'id'>): Promise<Narrowing | undefined> {
    const muted = id === undefined ? [] : await this.#deps.follows.muted(id);
    const [without, where] = [idsOf(muted, 'category'), all(this.#withinCategories(muted))];
    if (without.length === 0 && !where) return undefined;
    const names = muted.map((one) => `${one.kind} ${one.id}`).toSorted();
    const key = createHash('sha256').update(names.join()).digest('base64url');
    return { key, without, where, note: { text: 'subscriptions:muted.note', href: MUTED } };
  }

  /** A condition that nothing about the discussion `d` is muted by the member. */
  async outside(userId: string): Promise<DiscussionCondition> {
    const muted = await this.#deps.follows.muted(userId);
    const inCategories = idsOf(muted, 'category');
    const parts = inCategories.length > 0 ? [sql<boolean>`d.category_id <> all(${inCategories}::uuid[])`] : [];
    return all([...parts, ...this.#withinCategories(muted)]) ?? sql<boolean>`true`;
  }

  /** The ids of the members that the viewer ignores. */
  async ignored({ id }: Viewer): Promise<ReadonlySet<string>> {
    return new Set(id === undefined ? [] : idsOf(await this.#deps.follows.muted(id), 'member'));
  }

  /** Conditions that the discussion `d` has no muted tag and no ignored author. */
  #withinCategories(muted: readonly Followed[]): readonly DiscussionCondition[] {
    const { tags } = this.#deps;
    const [withTags, byMembers] = [idsOf(muted, 'tag'), idsOf(muted, 'member')];
    return [
      ...(byMembers.length > 0 ? [sql<boolean>`d.author_id <> all(${byMembers}::uuid[])`] : []),
      ...(tags && withTags.length > 0 ? [sql<boolean>`not (${tags.carriedBy(withTags)})`] : []),
    ];
  }
}
