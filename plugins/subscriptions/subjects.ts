import type { Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { nameOf, type Accounts } from 'parley-forum/plugins/accounts';
import type { Categories } from 'parley-forum/plugins/discussions';
import type { FollowKind, FollowRecord } from 'parley-forum/plugins/subscriptions';
import type { Tags } from 'parley-forum/ports/tags';
import type { Follow } from './follow-service.ts';

/** A category, tag or member as its followers see it. */
export interface Subject {
  readonly id: string;
  readonly name: string;
  /** The path of its page. */
  readonly url: string;
}
interface SubjectsDeps {
  readonly accounts: Pick<Accounts, 'authors' | 'find'>;
  readonly categories: Pick<Categories, 'find' | 'refresh' | 'visible'>;
  readonly tags: Pick<Tags, 'find' | 'visible'> | undefined;
}
interface Named {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
}

const subject = (at: '/c/' | '/t/', { id, name, slug }: Named): Subject => ({
  id,
  name,
  url: at + encodeURIComponent(slug),
});

/** Finds what can be followed, as far as the viewer can see it. */
export class Subjects {
  readonly #deps: SubjectsDeps;

  constructor(deps: SubjectsDeps) {
    this.#deps = deps;
  }

  /**
   * Finds a subject by id; categories and tags also by slug. Undefined for the viewer themselves, since nobody can
   * follow themselves.
   */
  async find(kind: FollowKind, id: string, viewer: Viewer): Promise<Subject | undefined> {
    const { accounts, categories, tags } = this.#deps;
    if (kind === 'category') {
      await categories.refresh();
      const category = categories.find(id, viewer);
      return category && subject('/c/', category);
    }
    if (kind === 'tag') {
      const tag = await tags?.find(id, viewer);
      return tag && subject('/t/', tag);
    }
    const account = await accounts.find(id);
    const other = account?.status === 'active' && account.id !== viewer.id;
    return other ? memberOf({ ...account, display_name: account.displayName }) : undefined;
  }

  /** The follows whose subjects the viewer can still see, in the given order. */
  async named(follows: readonly Follow[], viewer: Viewer): Promise<readonly Static<typeof FollowRecord>[]> {
    const { accounts, categories, tags } = this.#deps;
    await categories.refresh();
    const of = (kind: FollowKind): readonly Follow[] => follows.filter((one) => one.kind === kind);
    const seen = new Map<string, Subject>();
    const add = (kind: FollowKind, found: Subject): void => void seen.set(`${kind} ${found.id}`, found);
    for (const category of categories.visible(viewer)) add('category', subject('/c/', category));
    if (tags && of('tag').length > 0) for (const tag of await tags.visible(viewer)) add('tag', subject('/t/', tag));
    const members = of('member').map(({ id }) => id);
    if (members.length > 0)
      for (const author of (await accounts.authors(members)).values()) add('member', memberOf(author));
    return follows.flatMap(({ kind, id, level, createdAt }) => {
      const found = seen.get(`${kind} ${id}`);
      if (!found) return [];
      const { name, url } = found;
      return [{ kind, subject_id: id, name, url, level, created_at: createdAt.toISOString() }];
    });
  }
}

const memberOf = (member: {
  readonly id: string;
  readonly username: string;
  readonly display_name: string | null;
}): Subject => ({ id: member.id, name: nameOf(member), url: `/u/${encodeURIComponent(member.username)}` });
