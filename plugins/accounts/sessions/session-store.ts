import type { SessionData, Store } from 'express-session';

/** In seconds. */
export const IDLE_TIMEOUT = 3_600;
const MAX_LIFETIME = 86_400;
export const REMEMBER_ME_LIFETIME = 2_592_000;

/** The data of a login session. Times are in epoch milliseconds. */
export interface Login {
  readonly account: string;
  /** The account's `permissionsVersion` at login. */
  readonly version: number;
  readonly fingerprint: string;
  readonly address: string;
  /** Description of the browser, for the list of sessions. */
  readonly device: string;
  readonly remember: boolean;
  /** Secret from which the CSRF token is derived; it stays the same for the whole login, whatever the session id. */
  readonly csrf: string;
  readonly startedAt: number;
  /** When the member last confirmed their identity. */
  readonly confirmedAt: number;
  /** When this session id was issued. */
  readonly issuedAt: number;
  /** With a precision of one minute. */
  seenAt: number;
  /**
   * Set when the id was replaced: the key of the session that replaced it. Requests already in progress may still use
   * this one.
   */
  readonly successor?: string | undefined;
  readonly retiredAt?: number | undefined;
}

export type StoredSession = SessionData & {
  login?: Login;
  /** Set while the store is unavailable and this comes from the cache: may be used for reading only. */
  unconfirmed?: true;
};

/** When the session ends at the latest. */
export const expiryOf = ({ startedAt, remember }: Login): number =>
  startedAt + (remember ? REMEMBER_ME_LIFETIME : MAX_LIFETIME) * 1000;

/** A session as stored. */
export interface StoredLogin {
  /** The digest of the session id. */
  readonly key: string;
  readonly login: Login;
}

/**
 * Sessions by the digest of their id. Only `create` creates one: all other writes change existing sessions, so that a
 * late save cannot bring back one that was ended.
 */
export interface SessionStore extends Store {
  create(id: string, session: StoredSession): Promise<void>;
  /** False if it no longer exists or has a successor. */
  write(id: string, session: StoredSession): Promise<boolean>;
  has(key: string): Promise<boolean>;
  /** All sessions stored for the account, including expired ones, in no particular order. */
  byAccount(account: string): Promise<readonly StoredLogin[]>;
  /** True if it existed. */
  remove(id: string): Promise<boolean>;
  removeKeys(keys: readonly string[]): Promise<void>;
}

/** Callback of express-session for changes. */
export type DoneCallback = (error?: unknown) => void;
/** Callback of express-session for reads; `null` means "no such session". */
export type SessionCallback = (error: unknown, session?: StoredSession | null) => void;
