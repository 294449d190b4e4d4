import type { FieldProblem, Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';
import type { Shortcut } from '../api.ts';
import { COOKIE_AGE } from './preferences.ts';

const COOKIE = 'keyboard';
/** Characters of the cookie: a visitor's own keys for all shortcuts fit. */
const MAX_LENGTH = 2_000;
/** One key, or two with a space between. */
const KEYS = /^\S(?: \S)?$/u;

/** Shortcut ids with the keys that a visitor chose for them on this device; '': none. */
export type OwnKeys = Readonly<Record<string, string>>;

/** From a raw Cookie header. What is no key does not count. */
export function readOwnKeys(header: string | undefined, secure: boolean): OwnKeys {
  const value = cookieOf(header, cookieName(COOKIE, secure)) ?? '';
  const chosen = [...new URLSearchParams(value.slice(0, MAX_LENGTH))];
  return Object.fromEntries(chosen.filter(([, keys]) => keys === '' || KEYS.test(keys)));
}

/** Only what differs from the shortcuts' usual keys is kept. The cookie is read by no script and identifies no one. */
export function writeOwnKeys(res: Response, chosen: OwnKeys, shortcuts: readonly Shortcut[], secure: boolean): void {
  const changed = shortcuts.flatMap(({ id, keys }): [string, string][] => {
    const own = chosen[id];
    return own === undefined || own === keys ? [] : [[id, own]];
  });
  res.cookie(cookieName(COOKIE, secure), new URLSearchParams(changed).toString(), {
    path: '/',
    maxAge: COOKIE_AGE * 1000,
    httpOnly: true,
    sameSite: 'lax',
    secure,
    encode: String,
  });
}

/** Whether two are in each other's way: in queues those of queues come first, whatever their keys do elsewhere. */
const meet = (one: Shortcut, other: Shortcut): boolean => (one.area === 'queues') === (other.area === 'queues');

/** The shortcuts with a visitor's own keys: these come first, so that they have their keys where two have the same. */
export function withOwnKeys(shortcuts: readonly Shortcut[], own: OwnKeys): readonly Shortcut[] {
  const chosen = shortcuts.map((shortcut) => ({ ...shortcut, keys: own[shortcut.id] ?? shortcut.keys }));
  const taken = chosen.filter(({ id }) => own[id] !== undefined);
  const isTaken = (shortcut: Shortcut): boolean =>
    taken.some((other) => other.keys === shortcut.keys && meet(other, shortcut));
  return chosen.filter((shortcut) => shortcut.keys !== '' && (own[shortcut.id] !== undefined || !isTaken(shortcut)));
}

/** What keeps a choice from being kept: what is no key, and two that are in each other's way. `text` reads a text key. */
export function keyProblems(
  shortcuts: readonly Shortcut[],
  text: (key: string, values?: Readonly<Record<string, unknown>>) => string,
): readonly FieldProblem[] {
  const used = shortcuts.filter(({ keys }) => keys !== '');
  return used.flatMap((shortcut) => {
    const { id, keys } = shortcut;
    const field = fieldOf(id);
    if (!KEYS.test(keys)) return [{ field, message: text('web:keyboard.no-key') }];
    const other = used.find(
      (one) => one.id !== id && meet(one, shortcut) && (one.keys === keys || one.keys.startsWith(`${keys} `)),
    );
    if (!other) return [];
    const message = other.keys === keys ? 'web:keyboard.taken' : 'web:keyboard.begins';
    return [{ field, message: text(message, { keys: other.keys, name: text(other.label) }) }];
  });
}

export const fieldOf = (id: string): string => `keys[${id}]`;
