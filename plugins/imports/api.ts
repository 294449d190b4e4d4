import { defineAction, defineToken, type Console } from 'parley-forum';

/** What a file has. */
export interface ImportedAmounts {
  readonly members: number;
  readonly categories: number;
  readonly discussions: number;
  readonly posts: number;
}

/** Brings a community from a file, of which each line is a member, a category or a discussion. */
export interface CommunityImport {
  /** Runs `work` while nothing else is brought to this forum, in whichever process: 409 for the second. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Looks through the whole file and writes nothing. `problems`: a line each, the first ones; none where all is well. */
  check(path: string): Promise<{ readonly amounts: ImportedAmounts; readonly problems: readonly string[] }>;
  /**
   * Of a file without problems: in many transactions, and what is there already is left as it is. Resolves to how many
   * discussions and posts were new.
   */
  bring(
    path: string,
    amounts: ImportedAmounts,
    console: Pick<Console, 'progress'>,
  ): Promise<Pick<ImportedAmounts, 'discussions' | 'posts'>>;
}
export const CommunityImport = defineToken<CommunityImport>('CommunityImport');

/** Somebody at the shell is about to bring a community from elsewhere; raised before it, since it is many transactions. */
export const communityImported = defineAction<ImportedAmounts>('imports.community-imported');
