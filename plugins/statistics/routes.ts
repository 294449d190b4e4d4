import { Type, type PluginHandle } from 'parley-forum';
import { administer } from 'parley-forum/plugins/admin';
import { api, nullable, Time } from 'parley-forum/plugins/api';
import type { NumberStore } from './number-store.ts';
import { UNITS } from './periods.ts';

const SeriesRecord = Type.Object({
  name: Type.String({ description: '`sign_ups`, `discussions`, `posts`, `active_members`, or a plugin’s own' }),
  total: Type.Number({ description: 'Of all these periods; of members their average' }),
  before: Type.Number({ description: 'The same of as many periods before them' }),
  periods: Type.Array(
    Type.Object({
      start: Time,
      count: nullable(Type.Integer({ description: 'null if it has not been counted yet' })),
    }),
  ),
});

/** GET /api/statistics. */
export function addRoutes(plugin: PluginHandle, numbers: NumberStore): void {
  plugin.route(api, {
    method: 'get',
    path: '/statistics',
    can: administer,
    summary: 'Numbers of what happened in the last 30 days or 12 months, the current one included',
    query: Type.Object({
      unit: Type.Optional(Type.Enum([...UNITS], { description: 'day by default; days and months are those of UTC' })),
    }),
    result: Type.Object({
      unit: Type.Enum([...UNITS]),
      counted_at: nullable(Time),
      statistics: Type.Array(SeriesRecord),
    }),
  })(async ({ query: { unit = 'day' } }) => {
    const { series, periods, countedAt } = await numbers.read(unit);
    return {
      unit,
      counted_at: countedAt?.toISOString() ?? null,
      statistics: series.map(({ name, total, before, counts }) => ({
        name,
        total,
        before,
        periods: periods.map(({ from }, at) => ({ start: from.toISOString(), count: counts[at] ?? null })),
      })),
    };
  });
}
