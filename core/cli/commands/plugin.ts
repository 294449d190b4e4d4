import type { App } from '../../host/app.ts';
import { defineCommand, type Command } from '../command.ts';
import { Plugins, type PluginInfo } from '../../plugins/desired-state.ts';
import { Type } from '../../schema.ts';
import { Program } from '../program.ts';
import { operate } from './operation.ts';
import { pluginNew } from './plugin-new.ts';
import { pluginCheck } from './plugin-check.ts';
import { pluginPack } from './plugin-pack.ts';
import { pluginWhy } from './plugin-why.ts';
import { pluginAdd, pluginRemove } from './plugin-package.ts';

const Id = { id: Type.String({ description: 'The plugin’s id, as `plugin list` shows it' }) };

const stateOf = (plugin: PluginInfo): string => (plugin.state === 'active' ? 'on' : plugin.state);

const find = (app: App, id: string): PluginInfo | undefined => app.plugins.list().find((plugin) => plugin.id === id);

const list = defineCommand({
  name: 'plugin list',
  summary: 'Lists installed plugins with their states and versions.',
  options: Type.Object({}),
  needs: { plugins: Plugins },
  run({ plugins }, _options, console) {
    const all = plugins.list();
    const widthOf = (key: 'id' | 'version'): number => Math.max(...all.map((plugin) => plugin[key].length));
    const [ids, versions] = [widthOf('id'), widthOf('version')];
    for (const plugin of all) {
      const { id, version, problem, description } = plugin;
      const words = [id.padEnd(ids), stateOf(plugin).padEnd(6), version.padEnd(versions), problem ?? description];
      console.print(words.join('  ').trimEnd());
    }
  },
});

const enable = defineCommand({
  name: 'plugin enable',
  summary: 'Switches on a plugin and those it needs. It stays on.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { app: Program },
  async run({ app }, { id }, console) {
    await operate(app, { done: 'enabled', id, refused: !find(app, id) }, () => app.plugins.enable(id));
    console.print(`${id} is on.`);
  },
});

const disable = defineCommand({
  name: 'plugin disable',
  summary: 'Switches off a plugin and those that need it. Its data is kept.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { app: Program },
  async run({ app }, { id }, console) {
    const { required: refused = true, dependents = [] } = find(app, id) ?? {};
    const running = dependents.filter((other) => app.kernel.active().includes(other));
    const stopped = await operate(app, { done: 'disabled', id, others: running, refused }, () =>
      app.plugins.disable(id),
    );
    const others = stopped.filter((other) => other !== id);
    console.print(`${id} is off.${others.length > 0 ? ` Stopped with it: ${others.join(', ')}.` : ''}`);
  },
});

const uninstall = defineCommand({
  name: 'plugin uninstall',
  summary: 'Removes the tables, settings and pending jobs of a plugin that is off.',
  positional: ['id'],
  options: Type.Object(Id),
  needs: { app: Program },
  async run({ app }, { id }, console) {
    const { state = 'active' } = find(app, id) ?? {};
    await operate(app, { done: 'uninstalled', id, refused: state === 'active' }, () => app.plugins.uninstall(id));
    console.print(
      `${id} is uninstalled; its data is deleted. Remove its id from config/forum.ts and delete plugins/${id}.`,
    );
  },
});

export const pluginCommands: readonly Command[] = [
  list,
  enable,
  disable,
  uninstall,
  pluginNew,
  pluginAdd,
  pluginRemove,
  pluginCheck,
  pluginPack,
  pluginWhy,
];
