import { defineToken, type Token } from '../ref.ts';
import type { RequestHandler } from '../http/routes.ts';

/** Where a site keeps its data; undefined: in this process. */
export interface DataLocation {
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
}

/** What a PostgreSQL server says about a database in which nothing has been made yet. */
export interface DatabaseReport {
  /** Such as `17.2`. */
  readonly version: string;
  /** Extensions that are needed and that the server does not have. */
  readonly missing: readonly string[];
  /** Whether this user may make tables in it. */
  readonly writable: boolean;
  /** Whether a site was installed in it before. */
  readonly installed: boolean;
}

/** The runner, as far as whoever sets a site up needs it. */
export interface Site {
  /** Connects and looks, and leaves everything as it was. Throws what the driver threw. */
  inspect(databaseUrl: string): Promise<DatabaseReport>;
  /**
   * Opens the program a second time, on other data, for as long as `work` takes. Throws `ConfigurationError` when that
   * data cannot be used.
   */
  openAt<T>(place: DataLocation, work: (service: <S>(token: Token<S>) => S) => Promise<T>): Promise<T>;
  /**
   * Closes the program and opens it anew as the environment is by now; the port stays open and `meanwhile` answers on
   * it. What fails ends the process.
   */
  reopen(meanwhile: RequestHandler): Promise<void>;
}

/** A setup under way, from when the port opens until the site is installed. */
export interface OpenSetup {
  /** For the operator, on the console. */
  readonly notice: string;
  /** Stands in front of everything but the health checks; lets through what it calls `next` for. */
  readonly gate: RequestHandler;
}

/** Sets up a site on which nothing is installed yet. A plugin provides it; without one the server does not start. */
export interface Setup {
  /** Called once, before the port is opened. */
  begin(site: Site): OpenSetup;
}
export const Setup = defineToken<Setup>('Setup');
