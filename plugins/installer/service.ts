import { exclusively, HttpError, sql, type Clock, type Data, type Settings } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { DemoContent, Installation, Installer, Progress } from 'parley-forum/plugins/installer';
import type { ConfigFile } from './config-file.ts';

export interface InstallerDeps {
  readonly data: Data;
  readonly accounts: Accounts;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly configFile: ConfigFile;
  readonly demo: DemoContent | undefined;
  /** Raises `forum.installed`. */
  completed(administrator: string, demo: boolean, by: string | undefined): Promise<void>;
}

/** Settings that every new forum starts with, even if later versions change the defaults. */
const FIRST_SETTINGS = { 'security.password_min_length': 10 } as const;

export class InstallerService implements Installer {
  readonly #options: InstallerDeps;
  #busy = false;

  constructor(options: InstallerDeps) {
    this.#options = options;
  }

  get installed(): boolean {
    return this.#options.settings.get('kernel.installed_at') !== '';
  }

  async install(installation: Installation, progress: Progress): Promise<void> {
    if (installation.demo && !this.#options.demo) throw new HttpError(409, NO_CONTENT);
    await this.exclusively(() =>
      exclusively(this.#options.data, 'installer:install', busy, () => this.#install(installation, progress)),
    );
  }

  /**
   * Runs `work` unless the forum is installed or another installation is running in this process; throws 409 otherwise.
   */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy) throw busy();
    if (this.installed) throw taken();
    this.#busy = true;
    try {
      return await work();
    } finally {
      this.#busy = false;
    }
  }

  async #install(installation: Installation, progress: Progress): Promise<void> {
    const { settings, clock, configFile, demo, completed } = this.#options;
    if (await this.#installedElsewhere()) throw taken();
    await settings.set({
      ...FIRST_SETTINGS,
      ...installation.settings,
      ...(installation.siteName !== undefined && { 'site.name': installation.siteName }),
    });
    const administrator = await this.#administrator(installation);
    if (installation.demo) await demo!.fill(progress);
    // After a crash between these lines, the next start must open the same data. Only the last line marks the file as
    // that of an installed forum.
    if (installation.place) await configFile.add(installation.place);
    const installedAt = new Date(clock.now()).toISOString();
    await settings.set({ 'kernel.installed_at': installedAt });
    await configFile.add({ installed_at: installedAt });
    await completed(administrator, installation.demo === true, installation.by);
  }

  /** Queries the database: a setting another process has just stored may not have been announced here yet. */
  async #installedElsewhere(): Promise<boolean> {
    return (await this.#options.data.one(sql`select 1 from setting where key = 'kernel.installed_at'`)) !== undefined;
  }

  /** Resolves to the administrator's id. If a failed attempt already created the account, it gets the new password. */
  async #administrator({ username, email, password, bio, joinedAt, by }: Installation): Promise<string> {
    const { accounts } = this.#options;
    const found = await accounts.findByIdentifier(username);
    if (!found) {
      const { id } = await accounts.create({
        username,
        email,
        password,
        groupId: 'admin',
        by,
        ...(bio !== undefined && { bio }),
        ...(joinedAt && { joinedAt }),
      });
      return id;
    }
    await accounts.setPassword(found.id, password, by);
    await accounts.setGroup(found.id, 'admin', by);
    return found.id;
  }
}

export const busy = (): HttpError =>
  new HttpError(409, 'Another installation of this forum is in progress; wait until it has finished');
const NO_CONTENT =
  'No plugin provides demo content; add "demo" to config/forum.ts and enable it, or install without --demo';
const TAKEN =
  'A forum is already installed here; nothing was changed. To start over, point DATA_DIR or DATABASE_URL to an empty location';
const taken = (): HttpError => new HttpError(409, TAKEN);
