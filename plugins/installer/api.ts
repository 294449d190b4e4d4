import { defineAction, defineToken } from 'parley-forum';

/** Called with one short line whenever there is progress to report. */
export type Progress = (line: string) => void;

export interface Installation {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly siteName?: string;
  /** The administrator's biography and the date they joined; for demonstrations. */
  readonly bio?: string;
  readonly joinedAt?: Date;
  /** Also fill the forum with lifelike demo content. */
  readonly demo?: boolean;
  /** Further settings, by key. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** `commandLine` when no visitor performs the installation. */
  readonly by?: string;
  /** URLs that no environment variable sets; stored in DATA_DIR for the next start. */
  readonly place?: ConfiguredUrls;
}
/** What DATA_DIR/config.json may hold besides the time of the installation. */
export interface ConfiguredUrls {
  readonly database_url?: string;
  readonly redis_url?: string;
  readonly smtp_url?: string;
}

/** Turns an empty database into a forum, once. */
export interface Installer {
  /** True once an installation is complete. */
  readonly installed: boolean;
  /**
   * Throws 409 when a forum already exists or another process is installing one, and 400 naming what is wrong with the
   * administrator's details. An installation that failed halfway can be run again.
   */
  install(installation: Installation, progress: Progress): Promise<void>;
}
export const Installer = defineToken<Installer>('Installer');

/** The forum was installed, by its first administrator or by a command (`by`). */
export const forumInstalled = defineAction<{
  readonly administrator: string;
  readonly demo: boolean;
  readonly by?: string | undefined;
}>('forum.installed');

/** Fills a newly installed forum with content. Provided by a content plugin; used by the installer only. */
export interface DemoContent {
  /** Safe to repeat after a failure. Existing members are left unchanged. */
  fill(progress: Progress): Promise<void>;
}
export const DemoContent = defineToken<DemoContent>('DemoContent');
