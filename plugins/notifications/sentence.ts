import { nameOf, type Author } from 'parley-forum/plugins/accounts';
import type { NotificationType } from 'parley-forum/ports/notifications';

/** What a sentence about a notification is made of. */
interface SentenceValues {
  /** The last two people, the last first; undefined for one whose account is gone. */
  readonly actors: readonly (Author | undefined)[];
  readonly people: number;
  readonly count: number;
}
type Say = (key: string, values?: Readonly<Record<string, string | number>>) => string;

/** What stands before the title of a notification; empty where nobody knows its type any more. */
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

/** Text key of what stands in place of a title: also where nobody knows the type, since its plugin is off. */
export const untitledOf = (type: NotificationType | undefined): string | undefined =>
  type ? type.untitled : 'notifications:untitled.off';

function namesOf(first: string, second: string | undefined, people: number, say: Say): string {
  if (second === undefined) return say('notifications:names.one', { first, count: people - 1 });
  if (people === 2) return say('notifications:names.two', { first, second });
  return say('notifications:names.more', { first, second, count: people - 2 });
}
