import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { Cache, Clock, definePlugin, Environment, Http, pluginChanged, Plugins, Type } from '#core';
import { Access, type Viewer } from '#plugins/access';
import { Accounts, Csrf, Sessions } from '#plugins/accounts';
import { Protection } from '#plugins/protection';
import { navigation, pageFeeds, pages as pageSurface, pageWatchers, redirect, renderedTag, SafeHtml, sidebarSections, slotFillings, Web } from './api.ts';
import { Assets } from './assets.ts';
import { formModel } from './forms.ts';
import { PageHeaders } from './headers.ts';
import { safeUrl } from './helpers.ts';
import type { Locale } from './locales.ts';
import { createLook } from './look.ts';
import { Pages } from './page.ts';
import { NO_PREFERENCES, readPreferences, toPreferences, writePreferences } from './preferences.ts';
import { Replay } from './replay.ts';
import { ASSET_PATH, assetBehaviour, assetSurface, serveAsset } from './serve.ts';
import { webSettings } from './settings.ts';
import { PageSurface } from './surface.ts';
import { ROOT_THEME } from './themes.ts';

const word = Type.Optional(Type.String({ maxLength: 20 }));
const Appearance = Type.Object({ scheme: word, contrast: word, density: word, text: word, return_to: Type.Optional(Type.String({ maxLength: 500 })) });

const THEMES = join(import.meta.dirname, '../../themes');

export default definePlugin({
  id: 'web',
  name: 'Pages',
  description: 'The page surface: themes, templates, slots, forms and assets.',
  needs: { Access, Accounts, Cache, Clock, Csrf, Environment, Http, Plugins, Protection, Sessions },
  provides: { Web },
  extensionPoints: [slotFillings, navigation, sidebarSections, pageFeeds, pageWatchers],
  settings: webSettings,
  async setup(services, plugin) {
    const { settings, log } = plugin;
    const { Cache: cache, Environment: environment, Http: http, Plugins: plugins } = services;
    const assets = new Assets(join(environment.dataDir, 'assets'), log);
    const headers = new PageHeaders(services.Protection);
    const localeOf = (req: IncomingMessage): Locale => pages.look.locales.choose(req.headers['accept-language'], settings['site.locale']);
    const seen = (req: IncomingMessage, path: string, viewer: Viewer | undefined, key: string | undefined): void => {
      const page = { path, viewer: viewer ?? services.Access.guest, address: http.addressOf(req), userAgent: String(req.headers['user-agent'] ?? ''), key };
      for (const { value } of plugin.extensions(pageWatchers)) value.seen(page);
    };
    const pages = new Pages({
      siteName: () => settings['site.name'], baseUrl: environment.baseUrl, now: () => services.Clock.now(), attempt: plugin.attempt,
      fillings: () => plugin.extensions(slotFillings), navigation: () => plugin.extensions(navigation), sidebar: () => plugin.extensions(sidebarSections),
      feeds: () => plugin.extensions(pageFeeds),
      avatarOf: async ({ id }) => (id === undefined ? null : ((await services.Accounts.find(id))?.avatarUrl ?? null)),
    });

    // One after the other, and waited for at the stop: nothing is written into a data directory that was let go of.
    let warming = Promise.resolve();
    const warm = async (): Promise<void> => {
      if (!plugin.signal.aborted) await assets.warm().catch((error: unknown) => log.error({ error }, 'old browser files could not be cleared away'));
    };
    plugin.defer(() => warming);
    const dress = (): void => {
      const running = plugins.list().flatMap(({ id, state, folder }) => (folder && (state === 'active' || id === plugin.id) ? [{ id, folder }] : []));
      const own = running.some(({ id }) => id === plugin.id) ? running : [{ id: plugin.id, folder: import.meta.dirname }, ...running];
      const options = { themeFolders: [THEMES, join(environment.dataDir, 'themes')], plugins: own, assets, scope: pages.scope };
      try {
        pages.use(createLook({ ...options, theme: settings['site.theme'] }));
      } catch (error) {
        if (settings['site.theme'] === ROOT_THEME) throw error;
        log.error({ error, theme: settings['site.theme'] }, 'the theme cannot be used; pages fall back to the default one');
        pages.use(createLook({ ...options, theme: ROOT_THEME }));
      }
      setImmediate(() => (warming = warming.then(warm)));
    };
    dress();
    plugin.on(pluginChanged, ({ id }) => {
      if (id !== plugin.id) dress();
    });
    plugin.onSettings(async (keys) => {
      if (keys.includes('site.theme')) dress();
      await cache.purge(renderedTag);
    });

    const { Sessions: sessions, Csrf: csrf, Access: { guest } } = services;
    const parts = { pages, headers, protection: services.Protection, http, cache, environment, log, localeOf, seen, sessions, csrf, guest };
    const replay = new Replay({ ...parts, lookHash: () => pages.look.hash });
    plugin.surface(pageSurface, new PageSurface({ ...parts, replay }));
    plugin.surface(assetSurface, assetBehaviour(assets));

    plugin.route(assetSurface, { method: 'get', path: ASSET_PATH, can: 'public', summary: 'A file for browsers.' })(
      ({ req, res, params }) => serveAsset(assets, req, res, params),
    );
    plugin.route(pageSurface, {
      method: 'post', path: '/appearance', can: 'public', summary: 'Sets how pages look on this device.',
      body: Appearance,
    })(({ req, res, body: { return_to: back = '/', ...chosen } }) => {
      writePreferences(res, toPreferences({ ...readPreferences(req.headers.cookie), ...chosen }), http.secure(req));
      return redirect(safeUrl(back).startsWith('/') ? safeUrl(back) : '/');
    });

    return {
      Web: {
        fragment: async (viewer, template, model) => {
          const setting = { viewer, locale: pages.look.locales.get(settings['site.locale']), preferences: NO_PREFERENCES, url: '/', notice: undefined };
          return new SafeHtml((await pages.fragment(template, model, setting)).text);
        },
        text: (key, values) => pages.look.locales.get(settings['site.locale']).text(key, values),
        asset: (owner, path) => pages.look.asset(`@${owner}/${path}`),
        form: (schema, values, problems = []) => {
          const locale = pages.look.locales.get(settings['site.locale']);
          return formModel(schema, values, problems, { secretSet: locale.text('web:form.secret'), problem: locale.text('web:form.problem') });
        },
      },
    };
  },
});
