import { Type, type Static } from '#core';
import { view, type Retry, type View } from '#plugins/web';
import { HONEYPOT, type Honeypot } from './honeypot.ts';
import type { Passwords } from './passwords.ts';

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

export const LoginForm = Type.Object({
  identifier: Text(254),
  password: Text(1_024),
  remember: Type.Optional(Type.Union([Type.Boolean(), Type.String()])),
  return_to: Type.Optional(Type.String({ maxLength: 2_048 })),
});

export const RegisterForm = Type.Object({
  username: Text(100),
  email: Text(254),
  password: Text(1_024),
  password_confirmation: Type.Optional(Type.String()),
  return_to: Type.Optional(Type.String({ maxLength: 2_048 })),
  [HONEYPOT]: Type.Optional(Type.String()),
  shown: Type.Optional(Type.String({ maxLength: 200 })),
});
export type RegisterForm = Static<typeof RegisterForm>;

export const PasswordForm = Type.Object({ current_password: Text(1_024), password: Text(1_024), password_confirmation: Type.Optional(Type.String()) });
export const ProfileForm = Type.Object({ bio: Type.String({ maxLength: 1_000 }) });

/** What a form is rendered with: the values typed so far, and what was wrong with them. */
interface Shown {
  readonly values?: Readonly<Record<string, unknown>>;
  readonly retry?: Retry;
  readonly status?: number;
}

/** Passwords are never sent back. */
const typed = ({ values, retry }: Shown, names: readonly string[]): Record<string, string> => {
  const from = retry?.body ?? values ?? {};
  return Object.fromEntries(names.map((name) => [name, typeof from[name] === 'string' ? from[name] : '']));
};

const trouble = ({ retry }: Shown): object => ({
  message: retry?.message, problems: retry?.problems ?? [], wrong: Object.fromEntries((retry?.problems ?? []).map(({ field, message }) => [field, message])),
});

/** Any spelling that forms and clients use for a ticked box. */
export const ticked = (value: unknown): boolean => value === true || (typeof value === 'string' && !['', 'false', '0', 'off', 'no'].includes(value));

/** The forms of this plugin as views. */
export class Forms {
  readonly #passwords: Passwords;
  readonly #honeypot: Honeypot;

  constructor(passwords: Passwords, honeypot: Honeypot) {
    this.#passwords = passwords;
    this.#honeypot = honeypot;
  }

  login(shown: Shown): View {
    const model = { ...typed(shown, ['identifier', 'return_to']), remember: ticked(shown.retry?.body['remember']), ...trouble(shown) };
    return view('@accounts/login', { name: 'login', title: 'Log in', canonical: '/login', hidden: true }, model, shown.retry?.status ?? 200);
  }

  register(shown: Shown): View {
    const model = { ...typed(shown, ['username', 'email', 'return_to']), stamp: this.#honeypot.stamp(), ...this.#policy(), ...trouble(shown) };
    return view('@accounts/register', { name: 'register', title: 'Sign up', canonical: '/register', hidden: true }, model, shown.retry?.status ?? 200);
  }

  profile(shown: Shown): View {
    const model = { ...typed(shown, ['bio']), ...trouble(shown) };
    return view('@accounts/settings-profile', { name: 'settings', title: 'Profile', hidden: true }, model, shown.retry?.status ?? 200);
  }

  /** `token`: just made, shown this once. */
  security(shown: Shown & { readonly hasToken: boolean; readonly token?: string }): View {
    const model = { hasToken: shown.hasToken, token: shown.token, ...this.#policy(), ...trouble(shown) };
    return view('@accounts/settings-security', { name: 'settings', title: 'Security', hidden: true }, model, shown.retry?.status ?? 200);
  }

  #policy(): object {
    return { policy: { pattern: this.#passwords.pattern, minimum: this.#passwords.minimum, rules: this.#passwords.rules } };
  }
}
