import { defineCommand, type Command } from '../command.ts';
import { Plugins, type PluginInfo } from '../../plugins.ts';
import { Type } from '../../schema.ts';
import { pluginNew } from './plugin-new.ts';

const Id = { id: Type.String({ description: 'The plugin’s id, as `plugin list` shows it' }) };

const stateOf = (plugin: PluginInfo): string => (plugin.state === 'active' ? 'on' : plugin.state);

const list = defineCommand({
  name: 'plugin list',
  summary: 'Lists installed plugins and whether they run.',
  options: Type.Object({}),
  needs: { plugins: Plugins },
  run({ plugins }, _options, console) {
    const all = plugins.list();
    const width = Math.max(...all.map(({ id }) => id.length));
    for (const plugin of all) console.print(`${plugin.id.padEnd(width)}  ${stateOf(plugin).padEnd(6)}  ${plugin.problem ?? plugin.description}`.trimEnd());
  },
});

const enable = defineCommand({
  name: 'plugin enable',
  summary: 'Switches a plugin, and what it needs, on. It stays on.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { plugins: Plugins },
  async run({ plugins }, { id }, console) {
    await plugins.enable(id);
    console.print(`${id} is on.`);
  },
});

const disable = defineCommand({
  name: 'plugin disable',
  summary: 'Switches a plugin, and what needs it, off. Its data stays.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { plugins: Plugins },
  async run({ plugins }, { id }, console) {
    const others = (await plugins.disable(id)).filter((stopped) => stopped !== id);
    console.print(`${id} is off.${others.length > 0 ? ` With it stopped: ${others.join(', ')}.` : ''}`);
  },
});

const uninstall = defineCommand({
  name: 'plugin uninstall',
  summary: 'Removes the tables, settings and waiting work of a plugin that is off.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { plugins: Plugins },
  async run({ plugins }, { id }, console) {
    await plugins.uninstall(id);
    console.print(`${id} is uninstalled; its data is gone. Take its id out of config/forum.ts and delete plugins/${id}.`);
  },
});

/** `plugin list|enable|disable|uninstall|new`. */
export const pluginCommands: readonly Command[] = [list, enable, disable, uninstall, pluginNew];
