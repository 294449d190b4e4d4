import { HttpError, type Clock, type Settings } from '#core';
import type { Accounts } from '#plugins/accounts';
import type { DemoContent, Installation, Installer, Progress } from '#plugins/installer';

export interface InstallerOptions {
  readonly accounts: Accounts;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly demo: DemoContent | undefined;
}

export class InstallerService implements Installer {
  readonly #options: InstallerOptions;

  constructor(options: InstallerOptions) {
    this.#options = options;
  }

  get installed(): boolean {
    return this.#options.settings.get('kernel.installed_at') !== '';
  }

  async install(installation: Installation, progress: Progress): Promise<void> {
    const { settings, clock, demo } = this.#options;
    if (this.installed) throw new HttpError(409, 'There is a forum here already; nothing was changed. To begin anew, point DATA_DIR or DATABASE_URL at an empty place');
    if (installation.demo && !demo) throw new HttpError(409, 'Nothing here has demo content to offer; put "demo" into config/forum.ts and switch it on, or install without --demo');
    if (installation.siteName !== undefined) await settings.set({ 'site.name': installation.siteName });
    await this.#administrator(installation);
    if (installation.demo) await demo!.fill(progress);
    // Last: what broke off before this line can simply be run again.
    await settings.set({ 'kernel.installed_at': new Date(clock.now()).toISOString() });
  }

  /** Who was made by an attempt that broke off gets the password of this one. */
  async #administrator({ username, email, password, bio, joinedAt }: Installation): Promise<void> {
    const { accounts } = this.#options;
    const found = await accounts.findByName(username);
    if (!found) return void (await accounts.create({ username, email, password, groupId: 'admin', ...(bio !== undefined && { bio }), ...(joinedAt && { joinedAt }) }));
    await accounts.setPassword(found.id, password);
    await accounts.setGroup(found.id, 'admin');
  }
}
