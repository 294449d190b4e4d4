import { defineToken } from '#core';

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
}

/** Makes a forum of an empty database, once. */
export interface Installer {
  /** True from the moment an installation is complete. */
  readonly installed: boolean;
  /** 409 when there is a forum already; 400 naming what is wrong with the administrator. One that broke off can be run again. */
  install(installation: Installation, progress: Progress): Promise<void>;
}
export const Installer = defineToken<Installer>('Installer');

/** Fills a forum that was just installed. Provided by whoever has content; asked for by the installer only. */
export interface DemoContent {
  /** Safe to repeat after it broke off. Members who exist already are kept as they are. */
  fill(progress: Progress): Promise<void>;
}
export const DemoContent = defineToken<DemoContent>('DemoContent');
