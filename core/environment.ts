import { defineToken } from './ref.ts';

/** What the process was started with. Read from the environment by config/environment.ts. */
export interface Environment {
  readonly host: string;
  readonly port: number;
  /** Origin in links that leave the site, without a trailing slash. */
  readonly baseUrl: string;
  /** Everything the server writes lies below it. */
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly secretKey: string | undefined;
  readonly safeMode: boolean;
  readonly production: boolean;
  /** This program's version, as `GET /api/version` gives it. */
  readonly version: string;
}
export const Environment = defineToken<Environment>('Environment');

/** The time, in epoch milliseconds; tests put their own in its place. */
export interface Clock {
  now(): number;
}
export const Clock = defineToken<Clock>('Clock');
