import { defineToken } from './ref.ts';

/** The configuration that the process was started with, read from the environment by config/environment.ts. */
export interface Environment {
  readonly host: string;
  readonly port: number;
  /** Origin used in links that leave the site, without a trailing slash. */
  readonly baseUrl: string;
  /** The site's folder, which holds its configuration and its own plugins/ and themes/. */
  readonly siteDir: string;
  /** The folder under which the server writes everything. */
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly secretKey: string | undefined;
  /** The SMTP server that takes outgoing mail; without it each mail is written to a file. */
  readonly smtpUrl: string | undefined;
  /** The sender address of mails; defaults to noreply@ the site's host. */
  readonly mailFrom: string | undefined;
  /** Addresses and CIDR ranges whose forwarded-for headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Exact names and addresses of hosts on the internal network that requests may nevertheless be sent to. */
  readonly allowedHosts: readonly string[];
  /** Like `allowedHosts`, but for hosts whose pages may be fetched for link previews, and that many people may name. */
  readonly previewHosts: readonly string[];
  /** Like `allowedHosts`, but for hosts of identity providers. */
  readonly identityProviderHosts: readonly string[];
  /** Like `allowedHosts`, but for push services, through which browsers receive notifications. */
  readonly pushHosts: readonly string[];
  /** Ports of public hosts that requests may be sent to. */
  readonly allowedPorts: readonly number[];
  /** Names of the variables that were set explicitly, here or in DATA_DIR/config.json. */
  readonly given: ReadonlySet<string>;
  readonly safeMode: boolean;
  /** Log one line per request. */
  readonly logRequests: boolean;
  /** Send a `Server-Timing` header with each response. */
  readonly serverTiming: boolean;
  /**
   * How many steps below the current cost passwords are hashed, to keep tests fast. No environment variable sets it,
   * and it is ignored in production.
   */
  readonly quickHashes?: number;
  readonly production: boolean;
  /** Plugins are being developed while they run. Set by `parley dev`, not by an environment variable. */
  readonly development: boolean;
  /** Seconds between the stop signal and the closing of the port, during which GET /readyz answers 503. */
  readonly drainSeconds: number;
  /** Seconds within which a request must have been received completely. */
  readonly requestSeconds: number;
  /** Maximum number of concurrent connections; further ones are closed. */
  readonly maxConnections: number;
  /** The program's version, as `GET /api/version` returns it. */
  readonly version: string;
}
export const Environment = defineToken<Environment>('Environment');

/** The current time in epoch milliseconds; tests substitute their own clock. */
export interface Clock {
  now(): number;
}
export const Clock = defineToken<Clock>('Clock');
