import { Clock, Data, definePlugin, Http, Type } from 'parley-forum';
import { Admin } from 'parley-forum/plugins/admin';
import { Limits } from 'parley-forum/plugins/limits';
import { Protection, reportPaths } from 'parley-forum/plugins/protection';
import { ViolationCounts } from './violation-counts.ts';
import { addPages } from './pages.ts';
import { ReportSurface, reportSurface } from './report-surface.ts';

/** Milliseconds between writes, and days for which counts are stored. */
const FLUSH_INTERVAL = 5_000;
const RETENTION_DAYS = 30;

export default definePlugin({
  id: 'policy-reports',
  name: 'Policy reports',
  version: '1.0.0',
  description: 'Counts reports of browsers about content security policy violations.',
  needs: { data: Data, clock: Clock, http: Http, limits: Limits, protection: Protection },
  wants: { admin: Admin },
  settings: Type.Object({
    'security.report_rate_limit': Type.Integer({
      default: 60,
      minimum: 1,
      title: 'Policy reports per minute',
      'x-group': 'limits',
      description: 'Counted per network address.',
    }),
  }),
  setup({ data, clock, http, limits, protection, admin }, plugin) {
    const counts = new ViolationCounts({ data, clock, log: plugin.log });
    plugin.defer(counts.start(FLUSH_INTERVAL));
    const rate = (): number => plugin.settings['security.report_rate_limit'];
    plugin.surface(reportSurface, new ReportSurface({ http, limits, protection, rate }));
    plugin.route(reportSurface, {
      method: 'post',
      path: '/',
      can: 'public',
      summary: 'Receives a browser’s report of what it refused to load or run on a page',
    })(async ({ req }) => counts.add(await ReportSurface.read(req, protection)));
    plugin.extend(reportPaths, reportSurface.prefix);
    plugin.job('forget', { schema: Type.Object({}), cron: '33 3 * * *', run: () => counts.deleteOld(RETENTION_DAYS) });
    if (admin) addPages(plugin, { admin, counts, days: RETENTION_DAYS });
  },
});
