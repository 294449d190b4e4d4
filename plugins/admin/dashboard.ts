import type { Data, Environment, Jobs, PluginInfo, Plugins } from 'parley-forum';
import { administer, adminSections, adminTiles } from 'parley-forum/plugins/admin';
import { negotiated, pages, phrase, type Phrase, type Web } from 'parley-forum/plugins/web';
import type { PanelDeps } from './shared.ts';

/** Milliseconds a tile may take before the dashboard is rendered without its value. */
const TILE_BUDGET = 1_000;

interface DashboardDeps {
  readonly plugins: Plugins;
  readonly jobs: Jobs;
  readonly data: Data;
  readonly environment: Environment;
  readonly web: Web;
}

interface Alert {
  readonly kind: 'refusing' | 'failed';
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** Whether the plugin can be switched off. */
  readonly on: boolean;
}

/** What needs attention: checks that refuse everything, and plugins that failed. */
const alertsOf = ({ id, name, state, problem, required, tasks }: PluginInfo): readonly Alert[] => [
  ...tasks
    .filter(({ refusing }) => refusing)
    .slice(0, 1)
    .map(({ task, lastError }) => ({
      kind: 'refusing' as const,
      id,
      name,
      text: `${task}: ${lastError ?? ''}`,
      on: !required,
    })),
  ...(state === 'failed' ? [{ kind: 'failed' as const, id, name, text: problem ?? '', on: false }] : []),
];

/** `/admin`, and the tiles for the kernel itself. */
export function addDashboard(
  { plugin, panel }: PanelDeps,
  { plugins, jobs, data, environment, web }: DashboardDeps,
): void {
  const say = (key: string, values?: Phrase['values']): string => web.say(phrase(`admin:${key}`, values));
  plugin.extend(adminSections, { group: 'overview' as const, label: 'admin:dashboard', href: '/admin' }, -100);

  plugin.extend(adminTiles, { label: 'admin:tile.version', value: async () => ({ text: environment.version }) }, -100);
  plugin.extend(
    adminTiles,
    {
      label: 'admin:tile.database',
      value: async () => ({
        text: say(data.embedded ? 'tile.database.embedded' : 'tile.database.server'),
        state: 'good',
      }),
    },
    -99,
  );
  plugin.extend(
    adminTiles,
    {
      label: 'admin:plugins',
      href: '/admin/plugins',
      value: async () => {
        const all = plugins.list();
        const troubled = all.filter(
          ({ problem, tasks }) =>
            problem !== undefined || tasks.some(({ quarantined, refusing }) => quarantined || refusing),
        ).length;
        const running = all.filter(({ state }) => state === 'active').length;
        return troubled > 0
          ? { text: say('tile.plugins.troubled', { count: troubled }), state: 'bad' }
          : { text: say('tile.plugins.running', { count: running }), state: 'good' };
      },
    },
    -98,
  );
  plugin.extend(
    adminTiles,
    {
      label: 'admin:jobs',
      href: '/admin/jobs',
      value: async () => {
        const report = await jobs.report();
        const failed = report.reduce((sum, listener) => sum + listener.failed, 0);
        const waiting = report.reduce((sum, listener) => sum + listener.waiting, 0);
        return failed > 0
          ? { text: say('tile.jobs.failed', { count: failed }), state: 'bad' }
          : { text: say('tile.jobs.waiting', { count: waiting }), state: 'good' };
      },
    },
    -97,
  );

  plugin.extend(
    adminTiles,
    {
      label: 'admin:tile.theme',
      href: '/admin/settings/appearance',
      value: async () => {
        if (web.themeProblem !== undefined) return { text: say('tile.theme.bad'), state: 'bad' };
        if (web.themeWarning !== undefined) return { text: say('tile.theme.hard-to-read'), state: 'warning' };
        return { text: say('tile.theme.good'), state: 'good' };
      },
    },
    -96,
  );

  plugin.route(pages, { method: 'get', path: '/admin', can: administer })(async () => {
    const tiles = await Promise.all(
      plugin.extensions(adminTiles).map(async ({ plugin: owner, value: tile }) => {
        const found = await plugin.attempt(owner, `tile ${tile.label}`, () => tile.value(), TILE_BUDGET);
        return {
          label: web.say(phrase(tile.label)),
          href: tile.href,
          text: found?.text ?? say('tile.silent'),
          state: found ? found.state : 'warning',
        };
      }),
    );
    const alerts = plugins.list().flatMap((one) => alertsOf(one));
    const shown = alerts.map((alert) => ({
      ...alert,
      href: `/admin/plugins#plugin-${alert.id}`,
      title: say(`dashboard.${alert.kind}`, { name: web.declared(alert.name, alert.id) }),
    }));
    return negotiated(panel.view('@admin/dashboard', { title: phrase('admin:dashboard') }, { tiles, alerts: shown }), {
      success: true,
      tiles,
      alerts,
    });
  });
}
