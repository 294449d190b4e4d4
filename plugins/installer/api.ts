import { defineAction, defineToken } from 'parley-forum';

/** Called with one short line whenever there is something new to show. */
export type Progress = (line: string) => void;

export interface Installation {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly siteName?: string;
  /** The administrator's own words, and since when they are a member; for demonstrations. */
  readonly bio?: string;
  readonly joinedAt?: Date;
  /** Fill the forum with lifelike content as well. */
  readonly demo?: boolean;
  /** Further settings, by key. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** `commandLine` where no visitor installs. */
  readonly by?: string;
  /** URLs that no environment variable names, stored in DATA_DIR for the next start. */
  readonly place?: ConfiguredUrls;
}
/** What DATA_DIR/config.json may hold beside the time of the installation. */
export interface ConfiguredUrls {
  readonly database_url?: string;
  readonly redis_url?: string;
  readonly smtp_url?: string;
}

/** Makes a forum of an empty database, once. */
export interface Installer {
  /** True from the moment an installation is complete. */
  readonly installed: boolean;
  /**
   * 409 when there is a forum already, or another process is about to make one; 400 naming what is wrong with the
   * administrator. One that broke off can be run again.
   */
  install(installation: Installation, progress: Progress): Promise<void>;
}
export const Installer = defineToken<Installer>('Installer');

/** The forum was installed, by its first administrator or, `by`, by a command. */
export const forumInstalled = defineAction<{
  readonly administrator: string;
  readonly demo: boolean;
  readonly by?: string | undefined;
}>('forum.installed');

/** Fills a forum that was just installed. Provided by a plugin with content; used by the installer only. */
export interface DemoContent {
  /** Safe to repeat after it broke off. Existing members stay as they are. */
  fill(progress: Progress): Promise<void>;
}
export const DemoContent = defineToken<DemoContent>('DemoContent');
