import { InvalidInput } from 'parley-forum';
import type { Destination } from './post-mover.ts';

/** Maximum number of posts moved at once. */
export const MAX_CHOSEN = 200;

/** The destination given in a request. Throws 400 unless exactly one is given. */
export function destinationOf({
  discussion_id: discussionId,
  title,
  category_id: categoryId,
}: Readonly<Partial<Record<'discussion_id' | 'title' | 'category_id', string | undefined>>>): Destination {
  if (discussionId !== undefined) {
    if (title !== undefined || categoryId !== undefined)
      throw new InvalidInput([{ field: 'discussion_id', message: 'must not be combined with title and category_id' }]);
    return { discussionId };
  }
  if (title === undefined || categoryId === undefined)
    throw new InvalidInput([
      { field: 'discussion_id', message: 'is required, or title and category_id of a new discussion' },
    ]);
  return { title, categoryId };
}

const NAMES = [/(?:^|\/)d\/(\d+)/, /^#?(\d+)$/, /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i];

/** Id or number of a discussion that was entered as such or as a pasted URL; undefined for other text. */
export function namedDiscussion(text: string): string | undefined {
  const name = text.trim();
  return NAMES.map((pattern) => pattern.exec(name)?.[1]).find((found) => found !== undefined);
}

/** Minimum number of letters in at least one word of a title search. */
const MIN_LETTERS = 2;

/** The words to search titles for; undefined if they are too short, or if the text identifies a discussion. */
export function titleWords(text: string): string | undefined {
  const words = text.toWellFormed().toLowerCase().trim().replace(/\s+/g, ' ');
  const enough = words.split(' ').some(({ length }) => length >= MIN_LETTERS);
  return enough && namedDiscussion(text) === undefined ? words : undefined;
}
