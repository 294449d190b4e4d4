import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThemeReport } from '../api.ts';
import { filesBelow, modulesIn, stylesIn, type Assets, type PluginStyle } from '../assets/assets.ts';
import { manifestText, withAccent, type Branding } from './branding.ts';
import { createHelpers, type RenderScope } from '../templates/helpers.ts';
import { Locales, type TextFiles } from './locales.ts';
import { Sentences } from './sentences.ts';
import { checkStyle, unclosedRules, unservedFiles, unsetProperties } from './stylesheet-checks.ts';
import { Templates } from '../templates/templates.ts';
import {
  chainIcons,
  chainTokens,
  chainTokenSheet,
  checkLocale,
  hardToRead,
  loadChain,
  loadTheme,
  localeFiles,
  offeredLanguages,
  parentOf,
  placeIn,
  problemsIn,
  unknownKeys,
  unusableTheme,
  unusedTokens,
  type Theme,
} from './themes.ts';
import { themeColours, type Tokens } from './tokens.ts';

/** A plugin whose views, texts, styles and browser modules the bundle includes. */
interface ThemedPlugin {
  readonly id: string;
  readonly folder: string;
}

/** Everything needed to render pages, built once for a theme and the running plugins and replaced as a whole. */
export interface ThemeBundle {
  readonly theme: string;
  /** Ids of the plugins it was built for. */
  readonly plugins: ReadonlySet<string>;
  /** Changes with the theme, the plugins and their files; part of the key of every cached page. */
  readonly hash: string;
  readonly templates: Templates;
  readonly locales: Locales;
  readonly icons: ReadonlyMap<string, string>;
  /** URLs of the style sheets on every page. */
  readonly sheets: readonly string[];
  /** URLs of those on pages of one name only, by that name. */
  readonly pageSheets: ReadonlyMap<string, readonly string[]>;
  readonly colours: { readonly light: string; readonly dark: string };
  /** A sentence that lists colours with too little contrast; undefined if there are none. */
  readonly hardToRead: string | undefined;
  /** Tags of custom elements by the URL of the folder with their modules; sent with every page. */
  readonly elements: Readonly<Record<string, readonly string[]>>;
  readonly imports: Readonly<Record<string, string>>;
  /** URL of the web app manifest. */
  readonly manifest: string;
  readonly boot: string;
  readonly client: string;
  asset(name: string): string;
}

export interface ThemeBundleOptions {
  readonly theme: string;
  /** The folders in which themes are looked up, in order. */
  readonly themeFolders: readonly string[];
  readonly plugins: readonly ThemedPlugin[];
  /** Folders of all plugins, including those that are not running: the panel shows their descriptions. */
  readonly installed: ReadonlyMap<string, string>;
  readonly assets: Assets;
  readonly scope: () => RenderScope;
  /** The site's time zone. */
  readonly zone: () => string;
  readonly branding: Branding;
  /** Called with the error of each file of a plugin that cannot be used, when it is first needed. */
  unusable(error: unknown): void;
}

const WEB = 'web';
const ELEMENT = /^(x-[a-z0-9-]+)\.js$/;

/**
 * Reads a theme with its parents completely and checks it, without putting it to use. Throws a `ConfigurationError`
 * that says what is wrong and where.
 */
export function readTheme({
  theme,
  themeFolders,
  plugins,
  installed,
  scope,
  zone,
  branding,
  unusable,
}: Omit<ThemeBundleOptions, 'assets'>) {
  const chain = loadChain(theme, themeFolders);
  const tokens = withAccent(chainTokens(chain), branding.accent);
  const folders = new Map(plugins.map(({ id, folder }) => [id, folder]));
  for (const file of localeFiles(chain)) checkLocale(file);
  const themes = chain.toReversed().map(({ folder }) => folder);
  const files: TextFiles = (owner, language) => {
    const name = `${language}.json`;
    if (owner === 'theme') return themes.map((folder) => join(folder, 'locales', name));
    const own = [folders.get(owner) ?? []].flat().map((folder) => join(folder, 'locales', name));
    return [...own, ...themes.map((folder) => join(folder, 'locales/plugins', owner, name))];
  };
  const locales = new Locales(files, offeredLanguages(chain), {
    zone,
    unusable,
    failures: new Sentences('failures', { plugins: folders, themes, unusable }),
    declared: new Sentences('declared', { plugins: installed, themes, unusable }),
  });
  locales.load('theme');
  const templates = templatesOf(chain, { plugins, scope });
  templates.loadAll();
  return {
    chain,
    tokens,
    templates,
    locales,
    icons: chainIcons(chain),
    sheet: chainTokenSheet(chain, tokens),
    files: chain.toReversed().map((own) => ({ id: own.id, sources: themeFiles(own) })),
  };
}

/** The templates of a chain and of these plugins. */
export function templatesOf(
  chain: readonly Theme[],
  { plugins, scope }: Pick<ThemeBundleOptions, 'plugins' | 'scope'>,
): Templates {
  const folders = new Map(plugins.map(({ id, folder }) => [id, folder]));
  return new Templates(chain, createHelpers(scope), (id) => folders.get(id));
}

/** Checks a theme as `readTheme` does, but continues after a problem, so that authors see all of them at once. */
export function inspectTheme(options: Omit<ThemeBundleOptions, 'assets'>): ThemeReport {
  const { theme: id, themeFolders } = options;
  const problems = new Set<string>();
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      const found = problemsIn(error);
      if (!found) throw error;
      for (const problem of found) problems.add(problem);
      return undefined;
    }
  };
  const own = attempt(() => loadTheme(id, themeFolders));
  const chain = attempt(() => loadChain(id, themeFolders)) ?? [];
  const tokens = attempt(() => chainTokens(chain));
  const templates = templatesOf(chain, options);
  for (const file of localeFiles(chain)) attempt(() => checkLocale(file));
  if (chain.length > 0) {
    attempt(() => templates.loadAll());
    attempt(() => tokens && chainTokenSheet(chain, tokens));
    attempt(() => chainIcons(chain));
  }
  const sheetOf = (theme: Theme): string =>
    (attempt(() => themeFiles(theme)) ?? []).map(({ text = '' }) => text).join('\n');
  const [sheet = '', ...inherited] = chain.map(sheetOf);
  const others = [...inherited, ...options.plugins.flatMap(({ folder }) => stylesIn(folder).map(({ text }) => text))];
  const warnings = (all: Tokens): readonly string[] => [
    ...[hardToRead(all) ?? []].flat(),
    ...unusedTokens(chain, [sheet, ...others]),
    ...(own ? [...unknownKeys(own), ...unclosedRules(own), ...unservedFiles(own)] : []),
    // The default theme has properties that only scripts set.
    ...(own && inherited.length > 0 ? unsetProperties(own, [chainTokenSheet(chain, all), ...others]) : []),
    ...templates.missingSlots(),
  ];
  return {
    id,
    name: own?.name ?? id,
    parent: own && parentOf(own),
    problems: [...problems],
    warnings: problems.size === 0 && tokens ? warnings(tokens) : [],
  };
}

/** Throws `ConfigurationError` if the theme cannot be used, and leaves the current bundle untouched. */
export function buildThemeBundle(options: ThemeBundleOptions): ThemeBundle {
  const { theme, plugins, assets } = options;
  const { chain, tokens, templates, locales, icons, files, sheet: tokenText } = readTheme(options);
  const themeTrees = files.map(({ id, sources }) => assets.mount('t', id, sources));
  const pluginTrees = plugins.map(({ id, folder }) =>
    assets.mount('p', id, [...filesBelow(join(folder, 'public')), ...modulesIn(folder)]),
  );
  const sheet = assets.mount('s', 'tokens', [{ path: 'tokens.css', text: tokenText }]);
  const styles = plugins.flatMap(({ id, folder }) =>
    stylesIn(folder)
      .filter((style) => canUse(style, options))
      .map((style) => ({ id, ...style })),
  );
  const ofPages = [...Map.groupBy(styles, ({ page }) => page)];
  const pluginSheet = assets.mount(
    's',
    'plugins',
    ofPages.map(([page, some]) => ({
      path: sheetOfPage(page),
      text: some.map(({ id, text }) => `@layer plugins.${id}{\n${text}\n}`).join('\n'),
    })),
  );
  const elements = pluginTrees
    .map(({ base, paths }) => [base, [...paths].flatMap((path) => ELEMENT.exec(path)?.[1] ?? [])] as const)
    .filter(([, tags]) => tags.length > 0);
  const asset = (name: string): string => {
    const [, owner, path] = /^@([a-z0-9-]+)\/(.+)$/.exec(name) ?? [];
    if (owner) return (assets.tree('p', owner)?.base ?? `/assets/p/${owner}/`) + path;
    return (themeTrees.findLast((tree) => tree.paths.has(name)) ?? themeTrees[0])?.base + name;
  };
  const colours = themeColours(tokens);
  const manifest = assets.mount('s', 'app', [
    { path: MANIFEST, text: manifestText(options.branding, colours.light, asset('img/icon.svg')) },
  ]);
  const web = assets.tree('p', WEB)?.base ?? '/assets/p/web/';
  const client = `${web}client.js`;
  const trees = [...themeTrees, ...pluginTrees, sheet, pluginSheet, manifest];
  return {
    theme,
    templates,
    locales,
    icons,
    client,
    boot: `${web}boot.js`,
    plugins: new Set(plugins.map(({ id }) => id)),
    hash: createHash('sha256')
      .update(`${trees.map((tree) => tree.base).join()} ${templatesFingerprint(chain, plugins)}`)
      .digest('base64url')
      .slice(0, 10),
    sheets: [
      `${sheet.base}tokens.css`,
      ...themeTrees.filter((tree) => tree.paths.has(STYLE)).map((tree) => tree.base + STYLE),
      ...(pluginSheet.paths.has(sheetOfPage(undefined)) ? [pluginSheet.base + sheetOfPage(undefined)] : []),
    ],
    pageSheets: new Map(
      ofPages.flatMap(([page]) =>
        page === undefined ? [] : [[page, [pluginSheet.base + sheetOfPage(page)]] as const],
      ),
    ),
    colours,
    manifest: manifest.base + MANIFEST,
    // Computed on demand, because the bundle is rebuilt for each plugin that starts or stops.
    get hardToRead() {
      return hardToRead(tokens);
    },
    elements: Object.fromEntries(elements),
    imports: { '@forum/client': client },
    asset,
  };
}

/** A style sheet that is not well-formed is left out, since it would change those of other plugins. */
function canUse(style: PluginStyle, { unusable }: Pick<ThemeBundleOptions, 'unusable'>): boolean {
  try {
    checkStyle(style);
    return true;
  } catch (error) {
    unusable(error);
    return false;
  }
}

/** The path of the sheet with the styles of all plugins for pages of this name, or for every page. */
const sheetOfPage = (page: string | undefined): string => (page === undefined ? 'plugins.css' : `page-${page}.css`);

const STYLE = 'css/style.css';
const MANIFEST = 'site.webmanifest';

/** A theme's files, its style sheets joined into one to save requests. The root theme's parts name their own layers. */
function themeFiles(theme: Theme): Parameters<Assets['mount']>[2] {
  const files = filesBelow(join(theme.folder, 'assets')).filter(({ path }) => !path.endsWith('.css'));
  const sheets = (theme.styles ?? []).map((style) => ({ style, file: join(theme.folder, 'assets', style) }));
  const missing = sheets.find(({ file }) => !existsSync(file));
  if (missing)
    throw unusableTheme(
      theme.id,
      `${placeIn(join(theme.folder, 'theme.json'), ['styles', missing.style])}: names the style sheet "${missing.style}", but there is no assets/${missing.style}`,
    );
  const text = sheets.map(({ file }) => readFileSync(file, 'utf8')).join('\n');
  if (text === '') return files;
  return [
    ...files,
    {
      path: STYLE,
      text: theme.extends === undefined && theme.id === 'default' ? text : `@layer theme.${theme.id}{\n${text}\n}`,
    },
  ];
}

/** Cached pages must not outlive the templates they were rendered with. */
function templatesFingerprint(chain: readonly Theme[], plugins: readonly ThemedPlugin[]): string {
  return [...chain.map((theme) => `${theme.id}@${theme.version}`), ...plugins.map(({ id }) => id)].join();
}
