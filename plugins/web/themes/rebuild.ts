import { messageOf, type Logger, type PluginHandle } from 'parley-forum';
import type { Assets } from '../assets/assets.ts';
import { buildThemeBundle, readTheme, type ThemeBundle, type ThemeBundleOptions } from './theme-bundle.ts';
import type { PageRenderer } from '../pages/page-renderer.ts';
import { ROOT_THEME } from './themes.ts';

/** Milliseconds without a further change after which changes count as settled. */
const DEBOUNCE = 50;

/** Why a theme cannot be used, or undefined. */
export function themeProblemOf(options: Omit<ThemeBundleOptions, 'assets'>): string | undefined {
  try {
    readTheme(options);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Builds the theme's bundle. If that fails, falls back to the `previous` bundle if it is of the same theme and covers
 * every plugin, else to the default theme. If the default theme itself fails, falls back to any previous bundle, and
 * throws if there is none.
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
        'the theme on disk can no longer be used; pages continue to use the version read before',
      );
      return { bundle: previous, problem };
    }
    if (theme === ROOT_THEME && !previous) throw error;
    log.error({ error, theme }, 'the theme cannot be used; pages fall back to the default one');
    return { bundle: theme === ROOT_THEME ? previous! : buildThemeBundle({ ...options, theme: ROOT_THEME }), problem };
  }
}

/**
 * Returns a function to call when a plugin or the theme has changed. Since many plugins change at once, above all at
 * the start, the bundle is rebuilt only on its next use or once changes have settled; then the files for browsers are
 * built ahead.
 */
export function rebuildOnChange(plugin: PluginHandle, pages: PageRenderer, assets: Assets): () => void {
  // Runs are serialised and awaited on stop, so that nothing is written after the data directory was released.
  let warming = Promise.resolve();
  let settling: NodeJS.Timeout | undefined;
  const warm = async (): Promise<void> => {
    if (plugin.signal.aborted) return;
    try {
      void pages.bundle;
      await assets.warm(plugin.signal);
    } catch (error) {
      plugin.log.error({ error }, 'browser files could not be built ahead, or old ones could not be removed');
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
