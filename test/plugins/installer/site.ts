import { SITE } from '../../../core/host/site.ts';
import configuration from '../../../config/forum.ts';
import { readEnvironment } from '../../../config/environment.ts';
import type { AppOptions } from '../../../core/host/app.ts';
import { loadPlugins } from '../../../core/host/loader.ts';
import { ServerProcess } from '../../../core/host/process.ts';
import { definePlugin, type Plugin } from 'parley-forum';
import { DemoContent, type Progress } from 'parley-forum/plugins/installer';
import { createClient, type Client } from 'parley-forum/testing';
import { keepAssets, lendAssets } from '../../kit/assets.ts';
import { makeTestPlace, testLog, type TestPlace } from '../../kit/database.ts';
import { migrated } from '../../kit/migrated.ts';

export const PASSWORD = 'Slow-boat 7 to Oban';

/**
 * The real program on a port, as `npm start` runs it, on data where nothing is installed unless a test installs
 * it.
 */
export interface Site extends AsyncDisposable {
  readonly running: ServerProcess;
  readonly url: string;
  readonly folder: string;
  /** What was printed for the operator, without the log. */
  readonly printed: readonly string[];
  /** The set-up link without the site's origin. */
  readonly link: string;
  client(): Client;
  /** A browser that has opened the link. */
  invited(): Promise<Installing>;
}

export interface SiteOptions {
  /** An earlier site's data, which stays when this one ends. */
  readonly place?: TestPlace;
  /** No variable configures the database, so the installer asks for it. */
  readonly embedded?: boolean;
  /** Override those of the test's place; an empty string unsets one. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Replaces the demo content. */
  readonly fill?: (progress: Progress) => Promise<void>;
}

export async function openSite({ place: given, embedded, variables = {}, fill }: SiteOptions = {}): Promise<Site> {
  const place = given ?? (await makeTestPlace(migrated(), { ...(embedded !== undefined && { embedded }) }));
  if (!given) await lendAssets(place.folder);
  const environment = {
    DATA_DIR: place.folder,
    PORT: '0',
    BASE_URL: 'http://forum.test',
    SECRET_KEY: 'x'.repeat(32),
    ...(place.url !== undefined && { DATABASE_URL: place.url, REDIS_URL: process.env['TEST_REDIS_URL'] }),
    ...variables,
  };
  const plugins = await pluginsWith(fill);
  const settings = {
    ...configuration.settings,
    'login.attempt_rate_limit': 100_000,
    'email.mx_validation': false,
    'sitemap.files': false,
  };
  const used = { site: SITE, configuration: { ...configuration, settings }, log: testLog, plugins };
  const read = async (): Promise<AppOptions> => ({
    ...used,
    environment: { ...readEnvironment(environment), quickHashes: 8 },
  });
  const printed: string[] = [];
  const running = new ServerProcess({
    read,
    print: (text) => void printed.push(text),
    failed: (error) => {
      throw error;
    },
  });
  const end = async (): Promise<void> => {
    await running.close();
    if (given) return;
    await keepAssets(place.folder);
    await place.remove();
  };
  const port = await running.open().catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const url = `http://127.0.0.1:${port}`;
  const link = (): string => /http:\/\/[\w.]+(\/install\?token=\S+)/.exec(printed.join('\n'))?.[1] ?? '';
  return {
    running,
    url,
    printed,
    folder: place.folder,
    get link() {
      return link();
    },
    client: () => createClient(url),
    async invited() {
      const client = createClient(url);
      await client.get(link());
      return installing(client);
    },
    [Symbol.asyncDispose]: end,
  };
}

async function pluginsWith(fill: SiteOptions['fill']): Promise<readonly Plugin[]> {
  const loaded = await loadPlugins(SITE, configuration.plugins, testLog);
  if (!fill) return loaded;
  const content = definePlugin({
    id: 'content',
    provides: { content: DemoContent },
    setup: () => ({ content: { fill } }),
  });
  return [...loaded.filter(({ id }) => id !== 'demo'), content];
}

/** The steps of the installer as performed by a browser without JavaScript. */
export interface Installing {
  readonly client: Client;
  /** Sends a step's form, with the token of its page. */
  send(step: string, form: Readonly<Record<string, string>>): ReturnType<Client['request']>;
  /** Completes all steps before the last with their default values. */
  ready(services?: Readonly<Record<string, string>>): Promise<void>;
  /** The last step. */
  install(more?: Readonly<Record<string, string>>): ReturnType<Client['request']>;
}

const tokenIn = (page: string): string => /name="_csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';

/** For a browser that has opened the link. */
export function installing(client: Client): Installing {
  const send: Installing['send'] = async (step, form) => {
    const { text } = await client.get(`/install/${step}`);
    return client.request('POST', `/install/${step}`, { form: { _csrf: tokenIn(text), ...form } });
  };
  return {
    client,
    send,
    async ready(services = { database: 'embedded' }) {
      await send('site', { site_name: 'The Quay', locale: 'en', timezone: 'Europe/Lisbon' });
      const { status, text } = await send('services', services);
      if (status !== 303) throw new Error(`the services were refused with ${status}: ${text}`);
    },
    install: (more = {}) =>
      send('administrator', {
        username: 'ada',
        email: 'ada@example.org',
        password: PASSWORD,
        password_confirmation: PASSWORD,
        ...more,
      }),
  };
}
