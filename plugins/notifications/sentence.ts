import { nameOf, type Author } from 'parley-forum/plugins/accounts';
import type { NotificationType } from 'parley-forum/ports/notifications';

/** The values inserted into the sentence about a notification. */
interface SentenceValues {
  /** The last two people, most recent first; undefined if the account is gone. */
  readonly actors: readonly (Author | undefined)[];
  readonly people: number;
  readonly count: number;
}
type Say = (key: string, values?: Readonly<Record<string, string | number>>) => string;

/** The sentence before the title of a notification; empty if its type is not known any more. */
export function sentenceOf(
  type: NotificationType | undefined,
  { actors, people, count }: SentenceValues,
  say: Say,
): string {
  if (!type) return '';
  const [first, second] = actors.flatMap((actor) => (actor ? [nameOf(actor)] : []));
  if (type.several === undefined || people < 2 || first === undefined) {
    const name = actors[0] ? nameOf(actors[0]) : say('notifications:somebody');
    return say(type.sentence, { name, count });
  }
  return say(type.several, { names: namesOf(first, second, people, say), count });
}

/** Text key of the text shown instead of a title, also if the type is unknown because its plugin is off. */
export const untitledOf = (type: NotificationType | undefined): string | undefined =>
  type ? type.untitled : 'notifications:untitled.off';

function namesOf(first: string, second: string | undefined, people: number, say: Say): string {
  if (second === undefined) return say('notifications:names.one', { first, count: people - 1 });
  if (people === 2) return say('notifications:names.two', { first, second });
  return say('notifications:names.more', { first, second, count: people - 2 });
}
