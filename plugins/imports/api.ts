import { defineAction, defineToken, type Console } from 'parley-forum';

/** The number of records in a file. */
export interface ImportedAmounts {
  readonly members: number;
  readonly categories: number;
  readonly discussions: number;
  readonly posts: number;
}

/** Imports a community from a file, each line of which is a member, a category or a discussion. */
export interface CommunityImport {
  /** Runs `work` while no other import runs in any process; throws 409 if one does. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Checks the whole file and writes nothing. `problems` has one line each for the first problems found, and is empty
   * if there are none.
   */
  check(path: string): Promise<{ readonly amounts: ImportedAmounts; readonly problems: readonly string[] }>;
  /**
   * Imports a file without problems, in many transactions. Existing records are left as they are. Resolves to how many
   * discussions and posts were new.
   */
  bring(
    path: string,
    amounts: ImportedAmounts,
    console: Pick<Console, 'progress'>,
  ): Promise<Pick<ImportedAmounts, 'discussions' | 'posts'>>;
}
export const CommunityImport = defineToken<CommunityImport>('CommunityImport');

/**
 * An operator is about to import a community from the command line; raised before the import, which takes many
 * transactions.
 */
export const communityImported = defineAction<ImportedAmounts>('imports.community-imported');
