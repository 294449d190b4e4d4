import { InvalidInput } from 'parley-forum';
import type { Destination } from './post-mover.ts';

/** Posts that move at a time. */
export const MAX_CHOSEN = 200;

/** Where what was sent says that posts go. 400 unless it says one thing. */
export function destinationOf({
  discussion_id: discussionId,
  title,
  category_id: categoryId,
}: Readonly<Partial<Record<'discussion_id' | 'title' | 'category_id', string | undefined>>>): Destination {
  if (discussionId !== undefined) {
    if (title !== undefined || categoryId !== undefined)
      throw new InvalidInput([{ field: 'discussion_id', message: 'must not come with title and category_id' }]);
    return { discussionId };
  }
  if (title === undefined || categoryId === undefined)
    throw new InvalidInput([
      { field: 'discussion_id', message: 'is required, or title and category_id of a new discussion' },
    ]);
  return { title, categoryId };
}

const NAMES = [/(?:^|\/)d\/(\d+)/, /^#?(\d+)$/, /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i];

/** Id or number of the discussion that somebody names by either, or by an address that they pasted; undefined for words. */
export function namedDiscussion(text: string): string | undefined {
  const name = text.trim();
  return NAMES.map((pattern) => pattern.exec(name)?.[1]).find((found) => found !== undefined);
}

/** Letters of at least one word by which titles are looked for. */
const MIN_LETTERS = 2;

/** Words as titles are looked for by them; undefined where they are too short, or a discussion is named. */
export function titleWords(text: string): string | undefined {
  const words = text.toWellFormed().toLowerCase().trim().replace(/\s+/g, ' ');
  const enough = words.split(' ').some(({ length }) => length >= MIN_LETTERS);
  return enough && namedDiscussion(text) === undefined ? words : undefined;
}
