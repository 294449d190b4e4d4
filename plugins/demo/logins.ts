import type { Secrets } from 'parley-forum';

/** An administrator, a moderator and a member from the demo content, for looking around. */
export const loginNames: readonly string[] = ['ingrid', 'mira.k', 'nadia.r'];

/** E-mail addresses in a domain that nobody can own. */
export const memberEmail = (username: string): string => `${username}@slipway.example`;

/**
 * Passwords of the demo logins. Derived from the root key: the same at every start until the key is rotated, different
 * on every machine, and stored nowhere.
 */
export interface Logins {
  password(username: string): string;
}

export const createLogins = (secrets: Secrets): Logins => ({
  password: (username) => {
    const signature = Buffer.from(secrets.sign('demo-login', username));
    const digits = [...signature].reduce((sum, byte) => (sum * 257 + byte) % 900_000, 11) + 100_000;
    return `Slipway-${digits}`;
  },
});
