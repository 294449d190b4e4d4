import { defineToken } from './ref.ts';

/** What the process was started with. Read from the environment by config/environment.ts. */
export interface Environment {
  readonly host: string;
  readonly port: number;
  /** Origin in links that leave the site, without a trailing slash. */
  readonly baseUrl: string;
  /** The site's folder: its configuration and its own plugins/ and themes/ lie in it. */
  readonly siteDir: string;
  /** Everything the server writes lies below it. */
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly secretKey: string | undefined;
  /** Where mails are handed in; without it each becomes a file. */
  readonly smtpUrl: string | undefined;
  /** The address that mails come from; without it noreply@ and the site's host. */
  readonly mailFrom: string | undefined;
  /** Addresses and CIDR ranges whose forwarded-for headers are believed. */
  readonly trustedProxies: readonly string[];
  /** Exact names and addresses of hosts inside the network that requests may be sent to all the same. */
  readonly allowedHosts: readonly string[];
  /** As `allowedHosts`, of hosts whose pages may be read to show what a link leads to, and that many may name. */
  readonly previewHosts: readonly string[];
  /** As `allowedHosts`, of hosts by which people log in. */
  readonly identityProviderHosts: readonly string[];
  /** Ports of public hosts that requests may be sent to. */
  readonly allowedPorts: readonly number[];
  /** Names of the variables that were set, here or in DATA_DIR/config.json. */
  readonly given: ReadonlySet<string>;
  readonly safeMode: boolean;
  /** Each request leaves a line in the log. */
  readonly logRequests: boolean;
  /** Each answer says what it took: `Server-Timing`. */
  readonly serverTiming: boolean;
  /**
   * Steps below the cost in force at which passwords are hashed, so that tests are quick: no variable sets it, and in
   * production it counts for nothing.
   */
  readonly quickHashes?: number;
  readonly production: boolean;
  /** Plugins are worked on while they run: `parley dev` sets it, and no variable does. */
  readonly development: boolean;
  /** Seconds between the order to stop and the closing of the port, in which GET /readyz answers 503. */
  readonly drainSeconds: number;
  /** Seconds within which a request must have come in as a whole. */
  readonly requestSeconds: number;
  /** Connections at a time; further ones are closed. */
  readonly maxConnections: number;
  /** This program's version, as `GET /api/version` gives it. */
  readonly version: string;
}
export const Environment = defineToken<Environment>('Environment');

/** The time, in epoch milliseconds; tests put their own in its place. */
export interface Clock {
  now(): number;
}
export const Clock = defineToken<Clock>('Clock');
