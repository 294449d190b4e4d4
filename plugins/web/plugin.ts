import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import {
  Cache,
  Clock,
  definePlugin,
  Environment,
  Http,
  pluginChanged,
  Plugins,
  Routes,
  Secrets,
  Settings,
} from 'parley-forum';
import { Access, type Viewer } from 'parley-forum/plugins/access';
import { Accounts, Csrf, sessionNotices, Sessions } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Protection } from 'parley-forum/plugins/protection';
import {
  navigation,
  pageFeeds,
  pages as pageSurface,
  pageWatchers,
  renderedTag,
  SafeHtml,
  sidebarSections,
  slotFillings,
  Web,
} from './api.ts';
import { addAppearance } from './appearance/pages.ts';
import { Assets } from './assets/assets.ts';
import { leaveNotice } from './pages/flash-notices.ts';
import { createUsableLook, keepDressed, problemOf } from './themes/rebuild.ts';
import { formModel } from './forms/form-model.ts';
import { PageHeaders } from './pages/headers.ts';
import type { Locale } from './themes/locales.ts';
import type { Look } from './themes/theme-bundle.ts';
import { PendingForms } from './forms/pending-forms.ts';
import { Pages } from './pages/page-renderer.ts';
import { NO_PREFERENCES } from './appearance/preferences.ts';
import { Replay } from './page-cache/page-cache.ts';
import { ASSET_PATH, assetBehaviour, assetSurface, serveAsset } from './assets/serve.ts';
import { webSettings } from './settings.ts';
import { PageSurface } from './pages/surface.ts';

const DAY = 86_400_000;
const THEMES = join(import.meta.dirname, '../../themes');

export default definePlugin({
  id: 'web',
  name: 'Pages',
  description: 'The page surface: themes, templates, slots, forms and assets.',
  needs: {
    Access,
    Accounts,
    Cache,
    Clock,
    Csrf,
    Environment,
    Http,
    Limits,
    Plugins,
    Protection,
    Routes,
    Secrets,
    Sessions,
    Settings,
  },
  provides: { Web },
  extensionPoints: [slotFillings, navigation, sidebarSections, pageFeeds, pageWatchers],
  settings: webSettings,
  async setup(services, plugin) {
    const { settings, log } = plugin;
    const { Cache: cache, Environment: environment, Http: http, Plugins: plugins } = services;
    const assets = new Assets(join(environment.dataDir, 'assets'), log);
    const headers = new PageHeaders(services.Protection);
    const localeOf = (req: IncomingMessage): Locale =>
      pages.look.locales.choose(req.headers['accept-language'], settings['site.locale']);
    const seen = (req: IncomingMessage, path: string, viewer: Viewer | undefined, key: string | undefined): void => {
      const page = {
        path,
        viewer: viewer ?? services.Access.guest,
        address: http.addressOf(req),
        userAgent: String(req.headers['user-agent'] ?? ''),
        key,
      };
      for (const { value } of plugin.extensions(pageWatchers)) value.seen(page);
    };
    const lookOptions = () => {
      const running = plugins
        .list()
        .flatMap(({ id, state, folder }) =>
          folder && (state === 'active' || id === plugin.id) ? [{ id, folder }] : [],
        );
      const own = running.some(({ id }) => id === plugin.id)
        ? running
        : [{ id: plugin.id, folder: import.meta.dirname }, ...running];
      return {
        themeFolders: [THEMES, join(environment.dataDir, 'themes')],
        plugins: own,
        assets,
        scope: pages.scope,
        zone: () => settings['site.timezone'],
      };
    };
    let themeProblem: string | undefined;
    const dress = (worn: Look | undefined): Look => {
      const { look, problem } = createUsableLook({ ...lookOptions(), theme: settings['site.theme'] }, worn, log);
      themeProblem = problem;
      return look;
    };
    plugin.checkSettings(({ 'site.theme': theme }) => {
      const message = theme === undefined ? undefined : problemOf({ ...lookOptions(), theme: String(theme) });
      return message === undefined ? [] : [{ field: 'site.theme', message }];
    });
    const pages = new Pages({
      dress,
      siteName: () => settings['site.name'],
      sitePicture: () => settings['site.picture'],
      baseUrl: environment.baseUrl,
      now: () => services.Clock.now(),
      attempt: plugin.attempt,
      fillings: () => plugin.extensions(slotFillings),
      navigation: () => plugin.extensions(navigation),
      sidebar: () => plugin.extensions(sidebarSections),
      feeds: () => plugin.extensions(pageFeeds),
      avatarOf: async ({ id }) => (id === undefined ? null : ((await services.Accounts.find(id))?.avatarUrl ?? null)),
    });

    // A theme that cannot be used at all is found out now.
    void pages.look;
    const renew = keepDressed(plugin, pages, assets);
    renew();
    plugin.on(pluginChanged, ({ id }) => {
      if (id !== plugin.id) renew();
    });
    plugin.onSettings(async (keys) => {
      if (keys.includes('site.theme')) renew();
      await cache.purge(renderedTag);
    });

    const { Sessions: sessions, Csrf: csrf, Access: access } = services;
    const parts = {
      pages,
      headers,
      protection: services.Protection,
      http,
      cache,
      environment,
      log,
      localeOf,
      seen,
      sessions,
      csrf,
      access,
      guest: access.guest,
    };
    const lookHash = (): string => pages.hash;
    const replay = new Replay({ ...parts, lookHash });
    const pendingForms = new PendingForms({
      secrets: services.Secrets,
      settings: services.Settings,
      clock: services.Clock,
    });
    const surface = new PageSurface({
      ...parts,
      lookHash,
      replay,
      pendingForms,
      routes: services.Routes,
      limits: services.Limits,
      writes: () => settings['pages.rate_limit'],
    });
    plugin.surface(pageSurface, surface);
    const files = { assets, protection: services.Protection };
    plugin.surface(assetSurface, assetBehaviour(files));

    plugin.route(assetSurface, { method: 'get', path: ASSET_PATH, can: 'public', summary: 'A file for browsers.' })(
      ({ req, res, params }) => serveAsset(files, req, res, params),
    );
    // Whoever was away comes back much later than to the next page of a form.
    plugin.extend(sessionNotices, (req, res, text) => leaveNotice(res, text, { secure: http.secure(req), waits: DAY }));
    addAppearance(plugin, http);

    return {
      Web: {
        fragment: async (viewer, template, model) => {
          const setting = {
            viewer,
            locale: pages.look.locales.get(settings['site.locale']),
            preferences: NO_PREFERENCES,
            url: '/',
            notice: undefined,
          };
          return new SafeHtml((await pages.fragment(template, model, setting)).text);
        },
        text: (key, values) => pages.look.locales.get(settings['site.locale']).text(key, values),
        fail: (req, res, error) => surface.failFor(req, res, error),
        leaveNotice: (req, res, sentence) => leaveNotice(res, sentence, { secure: http.secure(req) }),
        get themeProblem() {
          // After a change the theme is read when it is next needed.
          void pages.look;
          return themeProblem;
        },
        get languages() {
          return pages.look.locales.offered;
        },
        asset: (owner, path) => pages.look.asset(`@${owner}/${path}`),
        form: (schema, values, problems = []) => {
          const locale = pages.look.locales.get(settings['site.locale']);
          return formModel(schema, values, problems, {
            secretSet: locale.text('web:form.secret'),
            problem: locale.text('web:form.problem'),
          });
        },
      },
    };
  },
});
