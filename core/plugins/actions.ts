import { defineAction } from '../hooks.ts';

export type PluginState = 'off' | 'active' | 'failed';

/** A plugin started, stopped or failed in this process. */
export const pluginChanged = defineAction<{ readonly id: string; readonly state: PluginState }>('plugin.changed');

/** In development: files changed on disk that pages are made of, such as templates, texts and styles. */
export const filesChanged = defineAction<object>('files.changed');
