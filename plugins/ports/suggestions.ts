import { defineExtensionPoint, sql, type Data, type RawBuilder } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** What a search field suggests while one types: it leads there. */
export interface Suggestion {
  readonly label: string;
  /** A path of this site. */
  readonly path: string;
  /** A few words beside it, such as its category. */
  readonly detail?: string | undefined;
}
/** A word as it was typed, in lower case, and what it is with two neighbouring letters swapped, which is never nothing. */
export interface TypedWord {
  readonly word: string;
  readonly swapped: readonly string[];
}
/** Suggestions of one kind. */
export interface SuggestionSource {
  /** Text key of the heading above them. */
  readonly label: string;
  /** Cache tags that are purged whenever it may find something else. */
  readonly tags: readonly string[];
  /**
   * What the viewer may see whose name has words that begin like those of `text` (two letters at least, in lower case,
   * single spaces), the best first. Asked while somebody types, guests too: an index has to find it.
   */
  find(text: string, viewer: Viewer, limit: number): Promise<readonly Suggestion[]>;
  /**
   * Names the viewer may see that have a word spelt almost like this one, the most alike first. Asked for the words of a
   * search that found nothing.
   */
  alike?(typed: TypedWord, viewer: Viewer, limit: number): Promise<readonly string[]>;
}
export const suggestionSources = defineExtensionPoint<SuggestionSource>(
  'search.suggestions',
  'What a search field suggests while one types; asked for each pause in typing, so an index has to find it.',
  { order: 'The place among the kinds of suggestions.' },
);

/** From which strict word similarity of pg_trgm on words are alike: that of "moter" and "motor". */
const ALIKE = 0.3;
/** Milliseconds after which a forum has too many names to look through. */
const TIMEOUT = 500;
/** PostgreSQL's code for a cancelled statement. */
const QUERY_CANCELED = '57014';

/**
 * What `SuggestionSource.alike` finds by a statement with pg_trgm's `<<%`; nothing where that takes more than half a
 * second, where a statement can be interrupted.
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

/** Something that whoever is new to the forum does well to begin with. */
export interface FirstStep {
  /** A text, such as `notifications:first-step`. */
  readonly label: string;
  /** The page where it is done. */
  readonly href: string;
  /** Whether the member has done it; one statement at most, asked with each front page of theirs while they are new. */
  done(member: Viewer): Promise<boolean>;
}
export const firstSteps = defineExtensionPoint<FirstStep>(
  'first-steps.steps',
  'What the front page proposes to new members, in the order of `order`, until they have done it.',
);
