import { messageOf, type Logger, type PluginHandle } from 'parley-forum';
import type { Assets } from '../assets/assets.ts';
import { buildThemeBundle, readTheme, type ThemeBundle, type ThemeBundleOptions } from './theme-bundle.ts';
import type { PageRenderer } from '../pages/page-renderer.ts';
import { ROOT_THEME } from './themes.ts';

/** Milliseconds without another change after which changes count as settled. */
const DEBOUNCE = 50;

/** What is wrong with a theme, or undefined. */
export function themeProblemOf(options: Omit<ThemeBundleOptions, 'assets'>): string | undefined {
  try {
    readTheme(options);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Builds the theme's bundle. Where that fails, falls back to the `previous` bundle of the same theme if it covers every
 * plugin, else to the default theme, and from that to any previous bundle. Throws where there is none.
 */
export function buildUsableBundle(
  options: ThemeBundleOptions,
  previous: ThemeBundle | undefined,
  log: Logger,
): { readonly bundle: ThemeBundle; readonly problem?: string } {
  const { theme } = options;
  try {
    return { bundle: buildThemeBundle(options) };
  } catch (error) {
    const problem = messageOf(error);
    if (previous?.theme === theme && options.plugins.every(({ id }) => previous.plugins.has(id))) {
      log.error(
        { error, theme },
        'the theme can no longer be used as it is on disk; pages go on with what was read before',
      );
      return { bundle: previous, problem };
    }
    if (theme === ROOT_THEME && !previous) throw error;
    log.error({ error, theme }, 'the theme cannot be used; pages fall back to the default one');
    return { bundle: theme === ROOT_THEME ? previous! : buildThemeBundle({ ...options, theme: ROOT_THEME }), problem };
  }
}

/**
 * Returns what to call when a plugin or the theme has changed. Many plugins change at once, above all at the start, so
 * the bundle is rebuilt on its next use, or when changes have settled; then the files for browsers are built ahead.
 */
export function rebuildOnChange(plugin: PluginHandle, pages: PageRenderer, assets: Assets): () => void {
  // One after the other, and awaited on stop: nothing is written after the data directory was released.
  let warming = Promise.resolve();
  let settling: NodeJS.Timeout | undefined;
  const warm = async (): Promise<void> => {
    if (plugin.signal.aborted) return;
    try {
      void pages.bundle;
      await assets.warm(plugin.signal);
    } catch (error) {
      plugin.log.error({ error }, 'files for browsers could not be made ahead, or old ones not cleared away');
    }
  };
  plugin.defer(() => {
    clearTimeout(settling);
    return warming;
  });
  return () => {
    pages.invalidate();
    clearTimeout(settling);
    settling = setTimeout(() => (warming = warming.then(warm)), DEBOUNCE).unref();
  };
}
