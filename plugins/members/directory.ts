import { MEMBER_SORTS, type Accounts, type UserRecord } from 'parley-forum/plugins/accounts';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Page } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';

export const SORTS = [...MEMBER_SORTS, 'posts'] as const;
export type DirectorySort = (typeof SORTS)[number];

export interface DirectoryRequest {
  readonly sort: DirectorySort;
  /** Only names that start with it; sorting by posts does not apply then. */
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

interface DirectoryDeps {
  readonly accounts: Accounts;
  readonly discussions: Discussions;
}

/** Active members in one of several orders. */
export class MemberDirectory {
  readonly #deps: DirectoryDeps;

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  async list({ sort, name, ...part }: DirectoryRequest, viewer: Viewer): Promise<Page<UserRecord>> {
    const { accounts, discussions } = this.#deps;
    const { items, ...page } =
      sort === 'posts' && name === undefined
        ? await discussions.mostPosts(part, viewer)
        : await accounts.list({ sort: sort === 'posts' ? 'name' : sort, name, ...part });
    return { items: await accounts.records(items, viewer), ...page };
  }
}
