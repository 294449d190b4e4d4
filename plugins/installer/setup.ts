import {
  ConfigurationError,
  HttpError,
  messageOf,
  RUN,
  type OpenSetup,
  type Environment,
  type Http,
  type DataLocation,
  type RequestHandler,
  type Setup,
  type Site,
} from 'parley-forum';
import type { ApiRefusals } from 'parley-forum/plugins/api';
import { Installer, type Installation } from 'parley-forum/plugins/installer';
import type { Protection } from 'parley-forum/plugins/protection';
import { Attempt } from './attempt.ts';
import { createGate } from './wizard/gate.ts';
import { busy, type InstallerService } from './service.ts';
import type { Visits } from './wizard/visits.ts';

export interface SetupDeps {
  readonly installer: InstallerService;
  readonly visits: Visits;
  readonly environment: Environment;
  readonly protection: Protection;
  readonly http: Http;
  readonly api: ApiRefusals | undefined;
  /** When DATA_DIR/config.json says a forum was installed, whatever the database says. */
  readonly configured: string | undefined;
  /** Serves requests while the program restarts on another database. */
  readonly restartPage: () => RequestHandler;
  /** Called with errors that occur after the request has been answered. */
  failed(error: unknown): void;
}

/** Guides the set-up from an empty site to an installed forum. */
export class SetupService implements Setup {
  readonly #options: SetupDeps;
  #site: Site | undefined;
  #attempt: Attempt | undefined;

  constructor(options: SetupDeps) {
    this.#options = options;
  }

  begin(site: Site): OpenSetup {
    const {
      installer,
      visits,
      environment: { baseUrl },
      protection,
      http,
      api,
      configured,
    } = this.#options;
    this.#site = site;
    const notice =
      configured === undefined
        ? invitation(`${baseUrl}/install?token=${visits.invite()}`)
        : databaseMissing(configured);
    return { notice, gate: createGate({ protection, http, api, installed: () => installer.installed }) };
  }

  /** True if there is or was a forum: then nobody may install from a browser. */
  get closed(): boolean {
    return this.#options.installer.installed || this.#options.configured !== undefined;
  }

  /** The running installation, or the last one if it failed after it started. */
  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** The site; set by `begin`. */
  get site(): Site {
    if (!this.#site) throw new HttpError(409, 'This server was not started in set-up mode');
    return this.#site;
  }

  /**
   * Resolves at the end, or once demo content is being written, which then continues in the background. Throws what the
   * installer throws, and 409 if the data at `place` cannot be used.
   */
  async install(installation: Installation, place: DataLocation): Promise<void> {
    if (this.#attempt && this.#attempt.failure === undefined) throw busy();
    const attempt = new Attempt(this.#options.failed);
    this.#attempt = attempt;
    try {
      await attempt.begin((progress) => this.#run(installation, place, progress));
    } catch (error) {
      this.#attempt = undefined;
      throw error instanceof ConfigurationError ? new HttpError(409, messageOf(error)) : error;
    }
  }

  async #run(installation: Installation, place: DataLocation, progress: (line: string) => void): Promise<void> {
    const { installer, environment, restartPage } = this.#options;
    const { site } = this;
    const elsewhere = place.databaseUrl !== environment.databaseUrl;
    if (elsewhere)
      await installer.exclusively(() =>
        site.openAt(place, (service) => service(Installer).install(installation, progress)),
      );
    else await installer.install(installation, progress);
    if (!elsewhere && place.redisUrl === environment.redisUrl && installation.place?.smtp_url === undefined) return;
    // Not awaited: the request must be answered before the program closes.
    setImmediate(() => void site.reopen(restartPage()));
  }
}

const invitation = (
  link: string,
): string => `Nothing is installed here yet. Open this link in a browser to set up the forum:

  ${link}

The first browser to submit a step claims the installation; the link then stops working, and a restart prints a new one.
Without a browser: ${RUN} install --help`;

const databaseMissing = (
  file: string,
): string => `${file} says that a forum was installed here, but there is none in the database.
Check DATABASE_URL and DATA_DIR. To start over, delete that file and restart, or: ${RUN} install --help`;
