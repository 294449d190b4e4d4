import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import {
  Cache,
  Clock,
  Data,
  definePlugin,
  Environment,
  fileChecks,
  filesChanged,
  Http,
  pluginChanged,
  Plugins,
  Routes,
  Secrets,
  Settings,
} from 'parley-forum';
import { Access, isGuest, type Viewer } from 'parley-forum/plugins/access';
import { errorTranslators } from 'parley-forum/plugins/api';
import { Accounts, Csrf, languageOffered, logoutNotices, Sessions } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Protection } from 'parley-forum/plugins/protection';
import { audited, auditRules } from 'parley-forum/ports/audit';
import {
  composerTools,
  fill,
  navigation,
  pageFeeds,
  pages as pageSurface,
  pageViewListeners,
  renderedTag,
  SafeHtml,
  shortcuts,
  sidebarSections,
  slotFillings,
  themeChosen,
  Web,
  type SlotFilling,
} from './api.ts';
import { addAppearance } from './appearance/pages.ts';
import { addLanguagePages } from './appearance/language-pages.ts';
import { addKeyboard } from './appearance/keyboard-pages.ts';
import { Assets } from './assets/assets.ts';
import { setNotice } from './pages/flash-notices.ts';
import { buildUsableBundle, rebuildOnChange, themeProblemOf } from './themes/rebuild.ts';
import type { Branding } from './themes/branding.ts';
import { themeCommands } from './themes/commands.ts';
import { inspectTheme, type ThemeBundle } from './themes/theme-bundle.ts';
import { problemsOfFiles } from './themes/plugin-files.ts';
import { installedThemes, themeFolders } from './themes/themes.ts';
import { formModel } from './forms/form-model.ts';
import { PageHeaders } from './pages/headers.ts';
import { readLanguage } from './appearance/language.ts';
import type { Locale } from './themes/locales.ts';
import { PendingForms } from './forms/pending-forms.ts';
import { PageRenderer } from './pages/page-renderer.ts';
import { NO_PREFERENCES } from './appearance/preferences.ts';
import { PageCache } from './page-cache/page-cache.ts';
import { ASSET_PATH, assetBehaviour, assetSurface, serveAsset } from './assets/serve.ts';
import { webSettings } from './settings.ts';
import { PageSurface } from './pages/surface.ts';

const DAY = 86_400_000;
/** Settings that the theme bundle depends on. */
const OF_BUNDLE = new Set(['site.theme', 'site.name', 'site.description', 'site.icon', 'site.accent']);
/** Places it in the writing field's toolbar after the tool that adds pictures. */
const MENTION_ORDER = -10;

/** The button that starts a mention, which `composer.completion` then completes: like that slot, for members only. */
const mentionTool = (fragment: Web['fragment']): SlotFilling =>
  fill(
    composerTools,
    async (places, viewer) => {
      if (isGuest(viewer)) return [];
      const tool = await fragment(viewer, '@web/mention', {});
      return places.map(() => tool);
    },
    { shared: true },
  );

export default definePlugin({
  id: 'web',
  name: 'Pages',
  version: '2.0.0',
  description: 'HTML pages: themes, templates, slots, forms and assets.',
  needs: {
    Access,
    Accounts,
    Cache,
    Clock,
    Csrf,
    Data,
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
  hooks: [themeChosen],
  extensionPoints: [slotFillings, navigation, shortcuts, sidebarSections, pageFeeds, pageViewListeners],
  settings: webSettings,
  commands: themeCommands,
  async setup(services, plugin) {
    const { settings, log } = plugin;
    const { Cache: cache, Environment: environment, Http: http, Plugins: plugins } = services;
    const assets = new Assets(join(environment.dataDir, 'assets'), log);
    const headers = new PageHeaders(services.Protection);
    const localeOf = (req: IncomingMessage): Locale => {
      const { locales } = renderer.bundle;
      const account = services.Sessions.accountOf(req);
      const language = locales.choose(
        [account?.language, readLanguage(req.headers.cookie, http.secure(req))],
        req.headers['accept-language'],
        settings['site.locale'],
      );
      return locales.get(language, account?.timezone);
    };
    const siteLocale = (): Locale => renderer.bundle.locales.get(settings['site.locale']);
    /** Set while rendering output that is stored for other readers, including what plugins add to it. */
    const keptForOthers = new AsyncLocalStorage<true>();
    /** The locale of the current request, else the site's. */
    const currentLocale = (): Locale => {
      const req = keptForOthers.getStore() ? undefined : services.Routes.current;
      return req ? localeOf(req) : siteLocale();
    };
    const onPageView = (
      req: IncomingMessage,
      path: string,
      viewer: Viewer | undefined,
      key: string | undefined,
    ): void => {
      const page = {
        path,
        viewer: viewer ?? services.Access.guest,
        ip: http.ip(req),
        userAgent: String(req.headers['user-agent'] ?? ''),
        key,
      };
      for (const { plugin: owner, value } of plugin.extensions(pageViewListeners))
        plugin.attemptSync(owner, 'listener of page views', () => value.onPageView(page));
    };
    const branding = (): Branding => ({
      name: settings['site.name'],
      description: settings['site.description'],
      picture: settings['site.picture'],
      icon: settings['site.icon'],
      accent: settings['site.accent'],
    });
    const bundleOptions = () => {
      const running = plugins
        .list()
        .flatMap(({ id, state, folder }) =>
          folder && (state === 'active' || id === plugin.id) ? [{ id, folder }] : [],
        );
      const own = running.some(({ id }) => id === plugin.id)
        ? running
        : [{ id: plugin.id, folder: import.meta.dirname }, ...running];
      return {
        themeFolders: themeFolders(environment),
        plugins: own,
        installed: new Map(plugins.list().flatMap(({ id, folder }) => (folder ? [[id, folder]] : []))),
        assets,
        scope: renderer.scope,
        zone: () => settings['site.timezone'],
        branding: branding(),
        unusable: (error: unknown) =>
          log.error({ error }, 'a file of a plugin cannot be used; pages are shown without its styles or texts'),
      };
    };
    let themeProblem: string | undefined;
    const buildBundle = (previous: ThemeBundle | undefined): ThemeBundle => {
      const { bundle, problem } = buildUsableBundle(
        { ...bundleOptions(), theme: settings['site.theme'] },
        previous,
        log,
      );
      themeProblem = problem;
      return bundle;
    };
    plugin.checkSettings(({ 'site.theme': theme }) => {
      const message = theme === undefined ? undefined : themeProblemOf({ ...bundleOptions(), theme: String(theme) });
      return message === undefined ? [] : [{ field: 'site.theme', message }];
    });
    const renderer = new PageRenderer({
      buildBundle,
      branding,
      baseUrl: environment.baseUrl,
      now: () => services.Clock.now(),
      attempt: (owner, task, work) => plugin.attempt(owner, task, work, settings['pages.part_deadline']),
      attemptSync: plugin.attemptSync,
      markSlots: environment.development,
      fillings: () => plugin.extensions(slotFillings),
      navigation: () => plugin.extensions(navigation),
      sidebar: () => plugin.extensions(sidebarSections),
      feeds: () => plugin.extensions(pageFeeds),
      accountOf: ({ id }) => (id === undefined ? undefined : services.Accounts.find(id)),
    });

    // Makes the start fail if no theme can be used at all.
    void renderer.bundle;
    const invalidate = rebuildOnChange(plugin, renderer, assets);
    invalidate();
    plugin.on(pluginChanged, ({ id }) => {
      if (id !== plugin.id) invalidate();
    });
    // Awaited, so that a page opened afterwards shows the new files, or the errors in them.
    plugin.on(
      filesChanged,
      () => {
        invalidate();
        void renderer.bundle;
      },
      { awaited: true },
    );
    plugin.onSettings(async (keys) => {
      if (keys.some((key) => OF_BUNDLE.has(key))) invalidate();
      await cache.purge(renderedTag);
    });

    const { Sessions: sessions, Csrf: csrf, Access: access } = services;
    const deps = {
      renderer,
      headers,
      protection: services.Protection,
      http,
      cache,
      log,
      localeOf,
      onPageView,
      sessions,
      csrf,
      access,
      guest: access.guest,
    };
    const bundleHash = (): string => renderer.hash;
    const pageCache = new PageCache({ ...deps, bundleHash });
    const pendingForms = new PendingForms({
      secrets: services.Secrets,
      settings: services.Settings,
      clock: services.Clock,
    });
    const surface = new PageSurface({
      ...deps,
      bundleHash,
      pageCache,
      pendingForms,
      routes: services.Routes,
      clock: services.Clock,
      limits: services.Limits,
      writeLimit: () => settings['pages.rate_limit'],
    });
    plugin.surface(pageSurface, surface);
    const files = { assets, protection: services.Protection };
    plugin.surface(assetSurface, assetBehaviour(files));

    plugin.route(assetSurface, { method: 'get', path: ASSET_PATH, can: 'public', summary: 'A static asset.' })(
      ({ req, res, params }) => serveAsset(files, req, res, params),
    );
    // A logged-out user comes back much later than a browser that follows a redirect.
    plugin.extend(logoutNotices, (req, res, text) =>
      setNotice(res, { text: localeOf(req).failure(text), kind: 'info' }, { secure: http.secure(req), maxAge: DAY }),
    );
    plugin.extend(
      auditRules,
      audited(themeChosen, ['theme.chosen'], ({ theme, by }) => ({
        action: 'theme.chosen',
        actor: by,
        details: { theme },
      })),
    );
    plugin.extend(fileChecks, (one) => problemsOfFiles(bundleOptions(), one));
    plugin.extend(errorTranslators, (req, message) => localeOf(req).failure(message));
    plugin.on(languageOffered, ({ language }) => renderer.bundle.locales.offered.includes(language));
    const offered = (): readonly string[] => renderer.bundle.locales.offered;
    addAppearance(plugin, { http, baseUrl: environment.baseUrl, offered });
    const siteZone = (): string => settings['site.timezone'];
    addLanguagePages(plugin, {
      http,
      accounts: services.Accounts,
      sessions: services.Sessions,
      offered,
      siteZone,
      siteLanguage: () => siteLocale().id,
      currentLanguage: () => currentLocale().id,
    });
    addKeyboard(plugin, http, localeOf);
    const fragment: Web['fragment'] = async (viewer, template, model, { inSiteLanguage = false } = {}) => {
      const render = async (): Promise<SafeHtml> => {
        const locale = currentLocale();
        const context = { viewer, locale, preferences: NO_PREFERENCES, url: '/', notice: undefined };
        return new SafeHtml((await renderer.fragment(template, model, context)).text);
      };
      return inSiteLanguage ? keptForOthers.run(true, render) : render();
    };
    plugin.extend(slotFillings, mentionTool(fragment), MENTION_ORDER);

    return {
      Web: {
        fragment,
        text: (key, values) => siteLocale().text(key, values),
        textsFor: async (ids) => {
          const chosen = await services.Accounts.localeSettings(ids);
          const { locales } = renderer.bundle;
          return (id) => {
            const { language, timezone } = chosen.get(id) ?? {};
            return locales.get(locales.choose([language], undefined, settings['site.locale']), timezone);
          };
        },
        get language() {
          return currentLocale().id;
        },
        get zone() {
          return currentLocale().zone;
        },
        say: (wording) => currentLocale().say(wording),
        failure: (message) => currentLocale().failure(message),
        declared: (text, owner) => currentLocale().declared(text, owner),
        sendErrorPage: (req, res, failure) => surface.sendErrorPage(req, res, failure),
        setNotice: (req, res, sentence) =>
          setNotice(res, { text: localeOf(req).say(sentence) }, { secure: http.secure(req) }),
        get themeProblem() {
          // After a change, the theme is only read on the next use of the bundle.
          void renderer.bundle;
          return themeProblem;
        },
        get themeWarning() {
          return renderer.bundle.hardToRead;
        },
        get version() {
          return renderer.bundle.hash;
        },
        get colours() {
          return renderer.bundle.colours;
        },
        get themes() {
          return installedThemes(themeFolders(environment));
        },
        useTheme: (theme, by) =>
          services.Data.transaction(async () => {
            await services.Settings.set({ 'site.theme': theme });
            await plugin.emit(themeChosen, { theme, by });
          }),
        inspectTheme: (id) => inspectTheme({ ...bundleOptions(), theme: id }),
        get languages() {
          return renderer.bundle.locales.offered;
        },
        asset: (owner, path) => renderer.bundle.asset(`@${owner}/${path}`),
        form: (schema, values, problems = []) => {
          const locale = currentLocale();
          return formModel(schema, values, problems, {
            secretSet: locale.text('web:form.secret'),
            problem: locale.text('web:form.problem'),
            declared: (text, owner) => locale.declared(text, owner),
          });
        },
      },
    };
  },
});
