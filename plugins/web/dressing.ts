import type { Logger, PluginHandle } from '#core';
import type { Assets } from './assets.ts';
import { createLook, type Look, type LookOptions } from './look.ts';
import type { Pages } from './page.ts';
import { ROOT_THEME } from './themes.ts';

/** Milliseconds without another change after which plugins have settled. */
const SETTLED = 50;

/** A theme that cannot be used gives way to the default one, and that one to what was `worn`. Throws where nothing is left. */
export function createUsableLook(options: LookOptions, worn: Look | undefined, log: Logger): Look {
  const { theme } = options;
  try {
    return createLook(options);
  } catch (error) {
    if (theme === ROOT_THEME && !worn) throw error;
    log.error({ error, theme }, 'the theme cannot be used; pages fall back to the default one');
    return theme === ROOT_THEME ? worn! : createLook({ ...options, theme: ROOT_THEME });
  }
}

/**
 * What it returns is called when a plugin or the theme has changed. Many plugins change at once, above all at the start: what comes of it is
 * made when it is asked for, or when they have settled, and files for browsers before somebody asks.
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
