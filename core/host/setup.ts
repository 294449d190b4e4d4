import { defineToken, type Token } from '../ref.ts';
import type { RequestHandler } from '../http/routes.ts';

/** Where a site keeps its data; undefined means embedded in this process. */
export interface DataLocation {
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
}

/** What a PostgreSQL server reports about a database before anything is created in it. */
export interface DatabaseReport {
  /** For example `17.2`. */
  readonly version: string;
  /** Required extensions that the server does not have. */
  readonly missing: readonly string[];
  /** Whether this user may create tables in the database. */
  readonly writable: boolean;
  /** Whether a site has been installed in the database before. */
  readonly installed: boolean;
}

/** The part of the server process that a setup plugin needs. */
export interface Site {
  /** Connects to a database and inspects it without changing anything. Throws what the driver throws. */
  inspect(databaseUrl: string): Promise<DatabaseReport>;
  /**
   * Opens a second instance of the program on other data for the duration of `work`. Throws `ConfigurationError` if
   * that data cannot be used.
   */
  openAt<T>(place: DataLocation, work: (service: <S>(token: Token<S>) => S) => Promise<T>): Promise<T>;
  /**
   * Closes the program and reopens it with the current environment. The port stays open, and `meanwhile` handles
   * requests. A failure ends the process.
   */
  reopen(meanwhile: RequestHandler): Promise<void>;
}

/** A setup in progress, from when the port opens until the site is installed. */
export interface OpenSetup {
  /** Shown to the operator on the console. */
  readonly notice: string;
  /** Handles all requests except health checks, and calls `next` for those that it lets through. */
  readonly gate: RequestHandler;
}

/**
 * Sets up a site that has not been installed yet. Provided by a plugin; without one, the server does not start on such
 * a site.
 */
export interface Setup {
  /** Called once, before the port is opened. */
  begin(site: Site): OpenSetup;
}
export const Setup = defineToken<Setup>('Setup');
