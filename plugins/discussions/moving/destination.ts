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

/** Id or number of the discussion that somebody names by number or by an address that they pasted. */
export function namedDiscussion(text: string): string {
  const named = text.trim();
  return /(?:^|\/)d\/(\d+)/.exec(named)?.[1] ?? named.replace(/^#/, '');
}
