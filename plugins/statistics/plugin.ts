import { Clock, counters, Data, definePlugin, Type } from 'parley-forum';
import { Admin, figures } from 'parley-forum/plugins/admin';
import { Protection } from 'parley-forum/plugins/protection';
import { Web } from 'parley-forum/plugins/web';
import { NumberStore } from './number-store.ts';
import { addPages } from './pages.ts';
import { UNITS } from './periods.ts';
import { addRoutes } from './routes.ts';

export default definePlugin({
  id: 'statistics',
  name: 'Statistics',
  version: '1.0.0',
  description: 'Numbers of the community for administrators: sign-ups, discussions, posts and active members.',
  needs: { data: Data, clock: Clock, admin: Admin, protection: Protection, web: Web },
  extensionPoints: [figures],
  setup({ data, clock, admin, protection, web }, plugin) {
    const numbers = new NumberStore({
      data,
      clock,
      attempt: plugin.attempt,
      figures: () => plugin.extensions(figures),
    });
    plugin.job('count', {
      schema: Type.Object({}),
      cron: '7 * * * *',
      run: () => numbers.count(plugin.signal),
    });
    for (const unit of UNITS) plugin.extend(counters, numbers.counter(unit));
    addRoutes(plugin, numbers);
    addPages({ plugin, admin, protection, web, numbers });
  },
});
