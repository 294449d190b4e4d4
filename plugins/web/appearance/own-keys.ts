import type { FieldProblem, Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';
import type { Shortcut } from '../api.ts';
import { COOKIE_AGE } from './preferences.ts';

const COOKIE = 'keyboard';
/** Maximum length of the cookie in characters: enough for own keys for all shortcuts. */
const MAX_LENGTH = 2_000;
/** One key, or two separated by a space. */
const KEYS = /^\S(?: \S)?$/u;

/** The keys that a visitor chose on this device, by shortcut id; '' disables the shortcut. */
export type OwnKeys = Readonly<Record<string, string>>;

/** Parses a raw Cookie header. Invalid keys are ignored. */
export function readOwnKeys(header: string | undefined, secure: boolean): OwnKeys {
  const value = cookieOf(header, cookieName(COOKIE, secure)) ?? '';
  const chosen = [...new URLSearchParams(value.slice(0, MAX_LENGTH))];
  return Object.fromEntries(chosen.filter(([, keys]) => keys === '' || KEYS.test(keys)));
}

/** Stores only keys that differ from the defaults. The cookie cannot be read by scripts and identifies no one. */
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

/**
 * Whether two shortcuts can conflict. In queues, the shortcuts for queues take precedence over all others, so they
 * conflict only with each other.
 */
const meet = (one: Shortcut, other: Shortcut): boolean => (one.area === 'queues') === (other.area === 'queues');

/**
 * Applies a visitor's own keys to the shortcuts. A shortcut whose default key the visitor gave to another one is
 * dropped.
 */
export function withOwnKeys(shortcuts: readonly Shortcut[], own: OwnKeys): readonly Shortcut[] {
  const chosen = shortcuts.map((shortcut) => ({ ...shortcut, keys: own[shortcut.id] ?? shortcut.keys }));
  const taken = chosen.filter(({ id }) => own[id] !== undefined);
  const isTaken = (shortcut: Shortcut): boolean =>
    taken.some((other) => other.keys === shortcut.keys && meet(other, shortcut));
  return chosen.filter((shortcut) => shortcut.keys !== '' && (own[shortcut.id] !== undefined || !isTaken(shortcut)));
}

/** Why a choice of keys cannot be saved: invalid keys, and shortcuts that conflict. `text` looks up a text key. */
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
