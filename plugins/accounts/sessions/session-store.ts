import type { SessionData, Store } from 'express-session';

/** Seconds. */
export const IDLE_TIMEOUT = 3_600;
const MAX_LIFETIME = 86_400;
export const REMEMBER_ME_LIFETIME = 2_592_000;

/** What a login session knows. Times are epoch milliseconds. */
export interface Login {
  readonly account: string;
  /** The account's `permissionsVersion` at login. */
  readonly version: number;
  readonly fingerprint: string;
  readonly address: string;
  /** The browser in words, for the list of sessions. */
  readonly device: string;
  readonly remember: boolean;
  /** The forgery token is made of it, so it lives as long as the login, over all ids. */
  readonly csrf: string;
  readonly startedAt: number;
  /** When the password was given last. */
  readonly confirmedAt: number;
  /** When this session id was issued. */
  readonly issuedAt: number;
  /** Exact to a minute. */
  seenAt: number;
  /**
   * Set when the id was replaced: the key of the session that took over. Requests already under way may still use this
   * one.
   */
  readonly successor?: string | undefined;
  readonly retiredAt?: number | undefined;
}

export type StoredSession = SessionData & {
  login?: Login;
  /** Set while the store is unavailable and this comes from the cache: for reading only. */
  unconfirmed?: true;
};

/** When the session is certainly over, whatever happens until then. */
export const expiryOf = ({ startedAt, remember }: Login): number =>
  startedAt + (remember ? REMEMBER_ME_LIFETIME : MAX_LIFETIME) * 1000;

/** A session as it is stored. */
export interface StoredLogin {
  /** The digest of the session's id. */
  readonly key: string;
  readonly login: Login;
}

/**
 * Sessions by the digest of their id. Only `create` brings one into being: whatever else writes changes those that are
 * there, so that a late save cannot bring back one that was ended.
 */
export interface SessionStore extends Store {
  create(id: string, session: StoredSession): Promise<void>;
  /** False when it is no longer there, or has a successor. */
  write(id: string, session: StoredSession): Promise<boolean>;
  has(key: string): Promise<boolean>;
  /** All that are stored for the account, over or not, in no order. */
  byAccount(account: string): Promise<readonly StoredLogin[]>;
  /** True when it was there. */
  remove(id: string): Promise<boolean>;
  removeKeys(keys: readonly string[]): Promise<void>;
}

/** What express-session calls when it has asked for a change. */
export type DoneCallback = (error?: unknown) => void;
/** What express-session calls with what it asked for; `null` is its word for "no such session". */
export type SessionCallback = (error: unknown, session?: StoredSession | null) => void;
