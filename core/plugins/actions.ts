import { defineAction } from '../hooks.ts';

export type PluginState = 'off' | 'active' | 'failed';

/** A plugin started, stopped or failed in this process. */
export const pluginChanged = defineAction<{ readonly id: string; readonly state: PluginState }>('plugin.changed');

/** Development only: files that pages are made from, such as templates, texts and styles, changed on disk. */
export const filesChanged = defineAction<object>('files.changed');
