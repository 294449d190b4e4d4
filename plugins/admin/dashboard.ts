import type { Data, Environment, Jobs, Plugins } from '#core';
import { administer, adminSections, adminTiles } from '#plugins/admin';
import { negotiated, pages } from '#plugins/web';
import type { Parts } from './parts.ts';

/** Milliseconds a tile may take before the dashboard goes on without its value. */
const TILE_BUDGET = 1_000;

interface Sources {
  readonly plugins: Plugins;
  readonly jobs: Jobs;
  readonly data: Data;
  readonly environment: Environment;
}

/** `/admin`, and the tiles about the kernel itself. */
export function addDashboard({ plugin, panel }: Parts, { plugins, jobs, data, environment }: Sources): void {
  plugin.extend(adminSections, { group: 'overview' as const, label: 'Dashboard', href: '/admin' }, -100);

  plugin.extend(adminTiles, { label: 'Version', value: async () => ({ text: environment.version }) }, -100);
  plugin.extend(adminTiles, { label: 'Database', value: async () => ({ text: data.embedded ? 'embedded' : 'server', state: 'good' }) }, -99);
  plugin.extend(adminTiles, {
    label: 'Plugins', href: '/admin/plugins',
    value: async () => {
      const all = plugins.list();
      const troubled = all.filter(({ problem, tasks }) => problem !== undefined || tasks.some(({ quarantined }) => quarantined)).length;
      const running = all.filter(({ state }) => state === 'active').length;
      return troubled > 0 ? { text: `${troubled} in trouble`, state: 'bad' } : { text: `${running} running`, state: 'good' };
    },
  }, -98);
  plugin.extend(adminTiles, {
    label: 'Background work', href: '/admin/jobs',
    value: async () => {
      const report = await jobs.report();
      const failed = report.reduce((sum, listener) => sum + listener.failed, 0);
      const waiting = report.reduce((sum, listener) => sum + listener.waiting, 0);
      return failed > 0 ? { text: `${failed} failed`, state: 'bad' } : { text: `${waiting} waiting`, state: 'good' };
    },
  }, -97);

  plugin.route(pages, { method: 'get', path: '/admin', can: administer, options: { login: true } })(async () => {
    const tiles = await Promise.all(plugin.extensions(adminTiles).map(async ({ plugin: owner, value: tile }) => {
      const found = await plugin.attempt(owner, `tile ${tile.label}`, () => tile.value(), TILE_BUDGET);
      return { label: tile.label, href: tile.href, text: found?.text ?? 'no answer', state: found ? found.state : 'warning' };
    }));
    return negotiated(panel.view('@admin/dashboard', { title: 'Dashboard' }, { tiles }), { success: true, tiles });
  });
}
