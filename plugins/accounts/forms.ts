import { Type, type Static } from 'parley-forum';
import { formErrors, phrase, view, type Retry, type View } from 'parley-forum/plugins/web';
import { MAX_DISPLAY_NAME } from './accounts/display-names.ts';
import { MAX_BIO } from './profiles/routes.ts';
import { HONEYPOT, type Honeypot } from './registration/honeypot.ts';
import type { SessionSummary } from './sessions/account-sessions.ts';
import { deviceText } from './sessions/device.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { TokenState } from './api-tokens.ts';

/** The settings page that all of these belong to. */
export const SECURITY = '/settings/security';

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
  language: Type.Optional(Type.String({ maxLength: 40 })),
  [HONEYPOT]: Type.Optional(Type.String()),
  shown: Type.Optional(Type.String({ maxLength: 200 })),
});
export type RegisterForm = Static<typeof RegisterForm>;

/**
 * `code`: of a second factor; long enough for a code with any separators that people type. `pending`: the sealed form
 * that was submitted before.
 */
export const ConfirmForm = Type.Object({
  password: Text(1_024),
  code: Type.Optional(Type.String({ maxLength: 60 })),
  return_to: Type.Optional(Type.String({ maxLength: 2_048 })),
  pending: Type.Optional(Type.String({ maxLength: 1_000_000 })),
});
export const ReturnForm = Type.Object({ return_to: Type.Optional(Type.String({ maxLength: 2_048 })) });
export const EmailForm = Type.Object({ email: Text(254) });
export const SessionForm = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{64}$', 'x-pattern-problem': 'is not the id of a session' }),
});
export const FirstPasswordForm = Type.Object({
  password: Text(1_024),
  password_confirmation: Type.Optional(Type.String()),
});
export const PasswordForm = Type.Object({
  current_password: Text(1_024),
  password: Text(1_024),
  password_confirmation: Type.Optional(Type.String()),
  keep_tokens: Type.Optional(Type.Union([Type.Boolean(), Type.String({ maxLength: 20 })])),
});
/** The rules for display names are checked later, so that the error names the field. */
export const ProfileForm = Type.Object({
  display_name: Type.Optional(Type.String({ maxLength: 200 })),
  bio: Type.String({ maxLength: MAX_BIO }),
});

/** The state of a form: the values entered so far, and their errors. */
interface FormState {
  readonly values?: Readonly<Record<string, unknown>>;
  readonly retry?: Retry;
  readonly status?: number;
}

/** Passwords are never sent back. */
const submittedValues = ({ values, retry }: FormState, names: readonly string[]): Record<string, string> => {
  const from = retry?.body ?? values ?? {};
  return Object.fromEntries(names.map((name) => [name, typeof from[name] === 'string' ? from[name] : '']));
};

/** Accepts every value that forms and clients use for a checked box. */
export const ticked = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && !['', 'false', '0', 'off', 'no'].includes(value));

/** The forms of this plugin as views. */
export class Forms {
  readonly #passwords: Passwords;
  readonly #honeypot: Honeypot;

  constructor(passwords: Passwords, honeypot: Honeypot) {
    this.#passwords = passwords;
    this.#honeypot = honeypot;
  }

  login(shown: FormState): View {
    const model = {
      ...submittedValues(shown, ['identifier', 'return_to']),
      remember: ticked(shown.retry?.body['remember']),
      ...formErrors(shown.retry),
    };
    return view(
      '@accounts/login',
      { name: 'login', title: phrase('accounts:login.title'), canonical: '/login', noindex: true },
      model,
    );
  }

  register(shown: FormState): View {
    const model = {
      ...submittedValues(shown, ['username', 'email', 'return_to']),
      stamp: this.#honeypot.stamp(),
      ...this.#policy(),
      ...formErrors(shown.retry),
    };
    return view(
      '@accounts/register',
      { name: 'register', title: phrase('accounts:register.submit'), canonical: '/register', noindex: true },
      model,
    );
  }

  /** `editable`: if false, the member only sees what others see of them. */
  profile(shown: FormState & { readonly editable: boolean }): View {
    const model = {
      ...submittedValues(shown, ['display_name', 'bio']),
      longest: MAX_DISPLAY_NAME,
      editable: shown.editable,
      ...formErrors(shown.retry),
    };
    return view(
      '@accounts/settings-profile',
      { name: 'settings', title: phrase('accounts:settings.profile'), noindex: true },
      model,
    );
  }

  /** Asks a member for their password again, if they have one, and for a code (`coded`). */
  confirm(shown: FormState & { readonly coded: boolean; readonly passwordless: boolean }): View {
    const model = {
      ...submittedValues(shown, ['return_to', 'pending']),
      coded: shown.coded,
      passwordless: shown.passwordless,
      ...formErrors(shown.retry),
    };
    return view(
      '@accounts/login-confirm',
      { name: 'login', title: phrase('accounts:confirm.title'), noindex: true },
      model,
    );
  }

  /** For a member who has no password yet. */
  firstPassword(shown: FormState): View {
    const model = { ...this.#policy(), ...formErrors(shown.retry) };
    return view(
      '@accounts/settings-password',
      { name: 'settings', title: phrase('accounts:password.first'), noindex: true, current: SECURITY },
      model,
    );
  }

  email(shown: FormState): View {
    const model = { ...submittedValues(shown, ['email']), ...formErrors(shown.retry) };
    return view(
      '@accounts/settings-email',
      { name: 'settings', title: phrase('accounts:email.title'), noindex: true, current: SECURITY },
      model,
    );
  }

  /** `token`: the state of the API token, if there is one; `fresh`: a new token, which is shown only this once. */
  security(
    shown: FormState & {
      readonly email: string;
      readonly passwordless: boolean;
      readonly token: TokenState | undefined;
      readonly fresh?: string;
    },
  ): View {
    const keepTokens = ticked(shown.retry?.body['keep_tokens']);
    const model = {
      email: shown.email,
      passwordless: shown.passwordless,
      token: shown.token,
      fresh: shown.fresh,
      keepTokens,
      ...this.#policy(),
      ...formErrors(shown.retry),
    };
    return view(
      '@accounts/settings-security',
      { name: 'settings', title: phrase('accounts:settings.security'), noindex: true, current: SECURITY },
      model,
    );
  }

  sessions(shown: FormState & { readonly sessions: readonly SessionSummary[] }): View {
    const sessions = shown.sessions.map((session) => ({
      ...session,
      device: deviceText(session.device),
      startedAt: new Date(session.startedAt),
      seenAt: new Date(session.seenAt),
    }));
    const model = { sessions, others: sessions.length > 1, ...formErrors(shown.retry) };
    return view(
      '@accounts/settings-sessions',
      { name: 'settings', title: phrase('accounts:settings.sessions'), noindex: true, current: SECURITY },
      model,
    );
  }

  #policy(): object {
    return { policy: this.#passwords.policy };
  }
}
