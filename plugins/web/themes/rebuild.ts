import { messageOf, type Logger, type PluginHandle } from 'parley-forum';
import type { Assets } from '../assets/assets.ts';
import { createLook, readTheme, type Look, type LookOptions } from './theme-bundle.ts';
import type { Pages } from '../pages/page-renderer.ts';
import { ROOT_THEME } from './themes.ts';

/** Milliseconds without another change after which plugins have settled. */
const SETTLED = 50;

/** What is wrong with a theme, or undefined. */
export function problemOf(options: Omit<LookOptions, 'assets'>): string | undefined {
  try {
    readTheme(options);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * A theme that cannot be used gives way to itself as it was `worn` last, while that knows every plugin, else to the
 * default one, and that one to whatever was worn. Throws where nothing is left.
 */
export function createUsableLook(
  options: LookOptions,
  worn: Look | undefined,
  log: Logger,
): { readonly look: Look; readonly problem?: string } {
  const { theme } = options;
  try {
    return { look: createLook(options) };
  } catch (error) {
    const problem = messageOf(error);
    if (worn?.theme === theme && options.plugins.every(({ id }) => worn.plugins.has(id))) {
      log.error(
        { error, theme },
        'the theme can no longer be used as it is on disk; pages go on with what was read before',
      );
      return { look: worn, problem };
    }
    if (theme === ROOT_THEME && !worn) throw error;
    log.error({ error, theme }, 'the theme cannot be used; pages fall back to the default one');
    return { look: theme === ROOT_THEME ? worn! : createLook({ ...options, theme: ROOT_THEME }), problem };
  }
}

/**
 * What it returns is called when a plugin or the theme has changed. Many plugins change at once, above all at the
 * start: what comes of it is made when it is asked for, or when they have settled, and files for browsers before
 * somebody asks.
 */
export function keepDressed(plugin: PluginHandle, pages: Pages, assets: Assets): () => void {
  // One after the other, and waited for at the stop: nothing is written into a data directory that was let go of.
  let warming = Promise.resolve();
  let settling: NodeJS.Timeout | undefined;
  const warm = async (): Promise<void> => {
    if (plugin.signal.aborted) return;
    try {
      void pages.look;
      await assets.warm();
    } catch (error) {
      plugin.log.error({ error }, 'files for browsers could not be made ahead, or old ones not cleared away');
    }
  };
  plugin.defer(() => {
    clearTimeout(settling);
    return warming;
  });
  return () => {
    pages.renew();
    clearTimeout(settling);
    settling = setTimeout(() => (warming = warming.then(warm)), SETTLED).unref();
  };
}
