import type { PluginHandle } from 'parley-forum';
import { administer, adminSections, adminTiles, type Admin } from 'parley-forum/plugins/admin';
import { negotiated, pages, phrase } from 'parley-forum/plugins/web';
import type { ViolationCounts } from './violation-counts.ts';

const PATH = '/admin/policy-reports';
const COLUMNS = [
  { label: 'policy-reports:directive' },
  { label: 'policy-reports:refused' },
  { label: 'policy-reports:times', numeric: true },
  { label: 'policy-reports:last' },
] as const;

export interface PageDeps {
  readonly admin: Admin;
  readonly counts: ViolationCounts;
  /** The number of days for which counts are shown. */
  readonly days: number;
}

/** `/admin/policy-reports`, and a dashboard tile with today's number. */
export function addPages(plugin: PluginHandle, { admin, counts, days }: PageDeps): void {
  plugin.extend(adminSections, { group: 'system' as const, label: 'policy-reports:title', href: PATH }, -96);
  plugin.extend(
    adminTiles,
    {
      label: 'policy-reports:today',
      href: PATH,
      value: async () => {
        const total = (await counts.list(1)).reduce((sum, { count }) => sum + count, 0);
        return { text: String(total), state: total > 0 ? 'warning' : 'good' };
      },
    },
    -90,
  );

  plugin.route(pages, { method: 'get', path: PATH, can: administer })(async () => {
    const list = await counts.list(days);
    const rows = list.map(({ directive, blocked, count, last }) => ({
      cells: [directive, blocked, count, last].map((text, index) => ({ ...COLUMNS[index], text })),
    }));
    const table = { caption: 'policy-reports:title', columns: COLUMNS, rows };
    return negotiated(
      admin.view('@policy-reports/list', { title: phrase('policy-reports:title'), current: PATH }, { days, table }),
      {
        success: true,
        reports: list,
      },
    );
  });
}
