import { readFile } from 'node:fs/promises';
import { Clock, Data, definePlugin, Environment, Http, Settings, Setup, type RequestHandler } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { ApiRefusals } from 'parley-forum/plugins/api';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { RedisProbe } from 'parley-forum/plugins/cache';
import { DemoContent, forumInstalled, Installer } from 'parley-forum/plugins/installer';
import { Protection } from 'parley-forum/plugins/protection';
import { phrase, Web } from 'parley-forum/plugins/web';
import { install } from './commands.ts';
import { ConfigFile } from './config-file.ts';
import { Forms, ownTimezone } from './wizard/forms.ts';
import { createRestartPage } from './wizard/restart-page.ts';
import { ConnectionTests, type Text } from './wizard/connection-tests.ts';
import { addRoutes } from './wizard/routes.ts';
import { InstallerService } from './service.ts';
import { SetupService } from './setup.ts';
import { InstallerSurface, installerSurface } from './wizard/surface.ts';
import { Visits } from './wizard/visits.ts';

export default definePlugin({
  id: 'installer',
  name: 'Installer',
  version: '1.0.0',
  description: 'Sets up a new forum on an empty database, in a browser or from a shell.',
  needs: {
    accounts: Accounts,
    clock: Clock,
    data: Data,
    environment: Environment,
    http: Http,
    protection: Protection,
    redis: RedisProbe,
    settings: Settings,
    web: Web,
  },
  wants: { api: ApiRefusals, demo: DemoContent },
  provides: { installer: Installer, setup: Setup },
  hooks: [forumInstalled],
  commands: [install],

  async setup({ accounts, clock, data, environment, http, protection, redis, settings, web, api, demo }, plugin) {
    const configFile = new ConfigFile(environment.dataDir);
    const installer = new InstallerService({
      data,
      accounts,
      settings,
      clock,
      configFile,
      demo,
      completed: (administrator, filled, by) => plugin.emit(forumInstalled, { administrator, demo: filled, by }),
    });
    plugin.extend(
      auditRules,
      audited(forumInstalled, ['forum.installed'], ({ administrator, demo: filled, by = administrator }) => ({
        action: 'forum.installed',
        actor: by,
        subject: { type: 'account', id: administrator },
        details: { demo: filled },
      })),
    );

    const text: Text = (key, values) => web.say(phrase(`installer:${key}`, values));
    const language = (): string => web.language;
    const style = await readFile(new URL('./installer.css', import.meta.url), 'utf8');
    const configured = (await configFile.installedAt()) === undefined ? undefined : configFile.path;
    const restartPage = (): RequestHandler => createRestartPage({ text, language: language(), style, http });
    const visits = new Visits();
    plugin.on(forumInstalled, () => visits.end(), { awaited: true });
    const setup = new SetupService({
      installer,
      visits,
      environment,
      protection,
      http,
      api,
      configured,
      restartPage,
      failed: (error) => plugin.log.error({ error }, 'an installation failed'),
    });
    const forms = new Forms({
      text,
      environment,
      demo: demo !== undefined,
      policy: () => accounts.passwordPolicy,
      rule: (label, minimum) => web.say(phrase(label, { minimum })),
      languages: () => web.languages,
      defaults: { siteName: () => String(settings.get('site.name')), language, timezone: ownTimezone },
    });
    const connectionTests = new ConnectionTests({
      text,
      inspect: (url) => setup.site.inspect(url),
      redis: (url) => redis.probe(url),
    });
    const shared = { setup, visits, http, web, text, language };
    plugin.surface(
      installerSurface,
      new InstallerSurface({ ...shared, protection, installed: () => installer.installed }),
    );
    addRoutes(plugin, { ...shared, forms, connectionTests, environment, languages: () => web.languages, style });
    return { installer, setup };
  },
});
