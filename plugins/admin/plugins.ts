import { notFound, Type, type PluginInfo, type Plugins } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { configure, adminSections, pluginReleased, pluginStayed, pluginSwitched } from 'parley-forum/plugins/admin';
import { negotiated, pages, phrase, redirect, type Texts, type Web } from 'parley-forum/plugins/web';
import { by, type PanelDeps } from './shared.ts';
import type { SecurityWarnings } from './security-warnings.ts';

const COLUMNS = [
  { label: 'admin:tasks.task' },
  { label: 'admin:tasks.calls', numeric: true },
  { label: 'admin:tasks.time', numeric: true },
  { label: 'admin:tasks.failures', numeric: true },
  { label: 'admin:tasks.state' },
] as const;
/** Formats milliseconds in the page's language, with one decimal place below 10 ms. */
function milliseconds(time: number, { language }: Pick<Web, 'language'>): string {
  const digits = time < 10 ? 1 : 0;
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  return `${time.toLocaleString(language, format)} ms`;
}
const cells = (
  { task, calls, time, failures, quarantined, refusing, lastError }: PluginInfo['tasks'][number],
  web: Web,
): readonly (string | number)[] => [
  task,
  calls,
  milliseconds(calls === 0 ? 0 : time / calls, web),
  failures,
  quarantined
    ? web.say(phrase('admin:tasks.quarantined', { problem: lastError }))
    : refusing
      ? web.say(phrase('admin:tasks.refusing', { problem: lastError }))
      : (lastError ?? web.say(phrase('admin:tasks.fine'))),
];
/** Whether the plugin needs an administrator's attention; such plugins are listed first. */
const inTrouble = ({ problem, tasks }: PluginInfo): boolean =>
  problem !== undefined || tasks.some(({ quarantined, refusing }) => quarantined || refusing);
const BADGES: Readonly<Record<PluginInfo['state'], string>> = { active: 'success', failed: 'danger', off: '' };

/** `/admin/plugins`: which plugins run, what they cost, and the switches. */
export function addPlugins(
  { plugin, panel }: PanelDeps,
  { plugins, web, warnings }: { plugins: Plugins; web: Web; warnings: SecurityWarnings },
): void {
  plugin.extend(adminSections, { group: 'system' as const, label: 'admin:plugins', href: '/admin/plugins' }, -99);
  const can = configure;

  const card = (info: PluginInfo, all: readonly PluginInfo[]): object => {
    const { id, version, description, state, problem, required, tasks, wanted, dependents, needs, blocks } = info;
    const is = (other: string, wish: boolean): boolean =>
      (all.find((one) => one.id === other)?.state === 'active') === wish;
    const name = web.declared(info.name, id);
    const calls = tasks.reduce((sum, task) => sum + task.calls, 0);
    const time = tasks.reduce((sum, task) => sum + task.time, 0);
    return {
      id,
      name,
      version,
      description: web.declared(description, id),
      problem: problem && web.failure(problem),
      required,
      on: wanted,
      badge: BADGES[state],
      state: `admin:plugins.state.${state}`,
      stops: dependents.filter((other) => is(other, true)).join(', '),
      starts: needs.filter((other) => is(other, false)).join(', '),
      needs: needs.join(', '),
      quarantined: tasks.some((task) => task.quarantined),
      refusing: tasks.some((task) => task.refusing),
      blocks,
      cost:
        calls === 0
          ? undefined
          : { calls, time: milliseconds(time, web), failures: tasks.reduce((sum, task) => sum + task.failures, 0) },
      table: {
        caption: web.say(phrase('admin:tasks.of', { name })),
        columns: COLUMNS,
        rows: tasks.map((task) => ({ cells: cells(task, web).map((text, index) => ({ ...COLUMNS[index], text })) })),
      },
    };
  };
  const known = (id: string): PluginInfo => {
    const found = plugins.list().find((one) => one.id === id);
    if (!found) throw notFound('There is no such plugin');
    return found;
  };

  /**
   * Plugins start and stop outside of any transaction, so the action is raised beforehand, and another one if switching
   * fails.
   */
  const switching = async <T>(
    actor: Viewer,
    { id, ...how }: { id: string; on: boolean; others: readonly string[] },
    work: () => Promise<T>,
  ): Promise<T> => {
    await plugin.emit(pluginSwitched, { actor: actor.id, plugin: id, ...how });
    try {
      return await work();
    } catch (error) {
      await plugin.emit(pluginStayed, { actor: actor.id, plugin: id });
      throw error;
    }
  };

  plugin.route(pages, { method: 'get', path: '/admin/plugins', can })(() => {
    const all = plugins.list();
    const json = { success: true, plugins: all.map(({ folder: _folder, ...info }) => info) };
    const shown = [...all.filter(inTrouble), ...all.filter((info) => !inTrouble(info))];
    return negotiated(
      panel.view(
        '@admin/plugins',
        { title: phrase('admin:plugins') },
        { plugins: shown.map((info) => card(info, all)) },
      ),
      json,
    );
  });

  const body = Type.Object({ id: Type.String() });
  plugin.route(pages, {
    method: 'post',
    path: '/admin/plugins/enable',
    can,
    summary: 'admin:does.plugin-on',
    body,
  })(async ({ actor, body: { id } }) => {
    const name = web.declared(known(id).name, id);
    await switching(actor, { id, on: true, others: [] }, () => plugins.enable(id));
    plugin.log.info({ ...by(actor), target: id }, 'a plugin was enabled');
    return negotiated(redirect('/admin/plugins', { notice: phrase('admin:plugin.on', { name }) }), { success: true });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/plugins/disable',
    can,
    summary: 'admin:does.plugin-off',
    body,
  })(async ({ actor, req, body: { id } }) => {
    const { required, dependents, ...info } = known(id);
    const running = plugins
      .list()
      .filter(({ state }) => state === 'active')
      .map((one) => one.id);
    const others = dependents.filter((other) => running.includes(other));
    const grave = required ? [] : plugins.list().filter((one) => one.defends && [id, ...others].includes(one.id));
    const namesIn = (texts: Texts): string => grave.map((one) => texts.declared(one.name, one.id)).join(', ');
    if (grave.length > 0)
      await warnings.send('plugin', (texts) => ({ plugins: namesIn(texts) }), warnings.actorOf(actor, req));
    // The plugin that sends mail may be about to stop.
    if (grave.length > 0) await warnings.drained();
    // Switching off a required plugin is refused, so no action is raised for it.
    const stopped = await (required
      ? plugins.disable(id)
      : switching(actor, { id, on: false, others }, () => plugins.disable(id)));
    plugin.log.info({ ...by(actor), target: id, stopped }, 'a plugin was disabled');
    const notice = phrase(others.length > 0 ? 'admin:plugin.off-with' : 'admin:plugin.off', {
      name: web.declared(info.name, id),
      others: others.join(', '),
    });
    return negotiated(redirect('/admin/plugins', { notice }), { success: true, stopped });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/admin/plugins/release',
    can,
    summary: 'admin:does.release',
    body,
  })(async ({ actor, body: { id } }) => {
    const name = web.declared(known(id).name, id);
    await plugin.emit(pluginReleased, { actor: actor.id, plugin: id });
    plugins.release(id);
    plugin.log.info({ ...by(actor), target: id }, 'a plugin’s quarantine was lifted');
    return negotiated(redirect('/admin/plugins', { notice: phrase('admin:plugin.released', { name }) }), {
      success: true,
    });
  });
}
