import type { Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

/** How a visitor wants pages to look on this device; empty values follow the system. */
export interface Preferences {
  /** Dark or light, overriding the system's setting. */
  readonly scheme: '' | 'light' | 'dark';
  /** More or normal contrast, overriding the system's setting. */
  readonly contrast: '' | 'normal' | 'more';
  /** Whether rows are closer together. */
  readonly density: '' | 'compact';
  /** The size of text. */
  readonly text: '' | 'large' | 'larger';
  /** Whether single-key shortcuts, without Ctrl or Alt, are enabled. */
  readonly keys: '' | 'off';
  /** Whether long lists load more as the reader scrolls, or have pages. */
  readonly paging: '' | 'pages';
  /** Whether a guest has dismissed the panel that invites them to sign up. */
  readonly welcome: '' | 'hidden';
}

const CHOICES = {
  scheme: ['light', 'dark'],
  contrast: ['normal', 'more'],
  density: ['compact'],
  text: ['large', 'larger'],
  keys: ['off'],
  paging: ['pages'],
  welcome: ['hidden'],
} as const;
const COOKIE = 'appearance';
/** Seconds: one year. */
export const COOKIE_AGE = 31_536_000;
const KEYS = Object.keys(CHOICES) as (keyof Preferences)[];

export const NO_PREFERENCES: Preferences = Object.freeze({
  scheme: '',
  contrast: '',
  density: '',
  text: '',
  keys: '',
  paging: '',
  welcome: '',
});

/** Accepts offered values only; anything else counts as empty, which follows the system. */
export function toPreferences(values: Readonly<Record<string, unknown>>): Preferences {
  const chosen = KEYS.map((key) => [
    key,
    (CHOICES[key] as readonly unknown[]).includes(values[key]) ? values[key] : '',
  ]);
  return Object.fromEntries(chosen);
}

/** Parses a raw Cookie header. */
export function readPreferences(header: string | undefined, secure: boolean): Preferences {
  const value = cookieOf(header, cookieName(COOKIE, secure));
  if (!value) return NO_PREFERENCES;
  return toPreferences(Object.fromEntries(value.split('.').map((part, index) => [KEYS[index] ?? '', part])));
}

/** Equal for equal preferences; part of the key of cached pages. */
export const preferencesKey = (preferences: Preferences): string => KEYS.map((key) => preferences[key]).join('.');

/** The cookie cannot be read by scripts and identifies no one. */
export const writePreferences = (res: Response, preferences: Preferences, secure: boolean): void =>
  void res.cookie(cookieName(COOKIE, secure), preferencesKey(preferences), {
    path: '/',
    maxAge: COOKIE_AGE * 1000,
    httpOnly: true,
    sameSite: 'lax',
    secure,
  });
