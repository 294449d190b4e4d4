import { defineExtensionPoint, sql, type Data, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A suggestion under a search field, which leads to a page. */
export interface Suggestion {
  readonly label: string;
  /** A path on this site. */
  readonly path: string;
  /** A few words shown beside it, such as its category. */
  readonly detail?: string | undefined;
}
/** A word as typed, in lower case, and its variants with two neighbouring letters swapped (never empty). */
export interface TypedWord {
  readonly word: string;
  readonly swapped: readonly string[];
}
/** Suggestions of one kind. */
export interface SuggestionSource {
  /** What they are, for clients that want one kind only. Default: the id of the plugin, for its only kind. */
  readonly kind?: string;
  /** Text key of the heading above them. */
  readonly label: string;
  /** Cache tags purged whenever its results may change. */
  readonly tags: readonly string[];
  /**
   * Finds what the viewer may see whose name has words starting with those of `text` (at least two letters, lower case,
   * single spaces), best match first. Called for guests too while they type, so it must be able to use an index.
   */
  find(text: string, viewer: Viewer, limit: number): Promise<readonly Suggestion[]>;
  /**
   * Names visible to the viewer that contain a word spelled almost like this one, most similar first. Called for the
   * words of a search that found nothing.
   */
  alike?(typed: TypedWord, viewer: Viewer, limit: number): Promise<readonly string[]>;
}
export const suggestionSources = defineExtensionPoint<SuggestionSource>(
  'search.suggestions',
  'Suggestions of a search field while the user types; queried at each pause in typing, so they have to be found by an index.',
  { order: 'The position among the kinds of suggestions.' },
);

/** The pg_trgm strict word similarity from which words count as alike: that of "moter" and "motor". */
const ALIKE = 0.3;
/** Milliseconds after which the search is given up, as there are too many names. */
const TIMEOUT = 500;
/** SQLSTATE code for a cancelled statement. */
const QUERY_CANCELED = '57014';

/**
 * Runs the statement of a `SuggestionSource.alike` that uses pg_trgm's `<<%`. Returns nothing if it takes more than
 * half a second, on databases where a statement can be interrupted.
 */
export async function findAlike<T>(data: Data, statement: RawBuilder<T>): Promise<readonly T[]> {
  try {
    return await data.transaction(async () => {
      await data.all(sql`select set_config('pg_trgm.strict_word_similarity_threshold', ${String(ALIKE)}, true),
        set_config('statement_timeout', ${String(TIMEOUT)}, true)`);
      return data.all(statement);
    });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === QUERY_CANCELED) return [];
    throw error;
  }
}

/** A first step recommended to new members. */
export interface FirstStep {
  /** Text key, such as `notifications:first-step`. */
  readonly label: string;
  /** URL of the page where it is done. */
  readonly href: string;
  /**
   * Whether the member has done it; at most one statement, as it runs on every view of the front page by a new member.
   */
  done(member: Viewer): Promise<boolean>;
}
export const firstSteps = defineExtensionPoint<FirstStep>(
  'first-steps.steps',
  'First steps that the front page suggests to new members, in the order of `order`, until they have done them.',
);
