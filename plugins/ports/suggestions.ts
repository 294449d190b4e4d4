import { defineExtensionPoint } from 'parley-forum';
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
/**
 * What `pg_trgm.strict_word_similarity_threshold` has to be for `SuggestionSource.alike`: that of "moter" and "motor".
 */
export const ALIKE = 0.3;
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
