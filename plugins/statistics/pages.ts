import { Type, type PluginHandle } from 'parley-forum';
import { adminDashboard, administer, adminSections, chart, chartFigure, type Admin } from 'parley-forum/plugins/admin';
import type { Protection } from 'parley-forum/plugins/protection';
import { fill, negotiated, pages, phrase, redirect, slotFillings, type Web } from 'parley-forum/plugins/web';
import type { Numbers, NumberStore, Series } from './number-store.ts';
import { UNITS, type Unit } from './periods.ts';

const PATH = '/admin/statistics';

export interface PageDeps {
  readonly plugin: PluginHandle;
  readonly admin: Admin;
  readonly protection: Protection;
  readonly web: Web;
  readonly numbers: NumberStore;
}

const dayOf = (moment: Date, unit: Unit): string => moment.toISOString().slice(0, unit === 'day' ? 10 : 7);
const pathOf = (unit: Unit): string => (unit === 'day' ? PATH : `${PATH}?unit=${unit}`);

/** The numbers as lines of comma-separated values, the periods in a form that sorts. */
function csvOf({ unit, periods, series }: Numbers): string {
  const lines = [
    [unit, ...series.map(({ name }) => name)],
    ...periods.map(({ from }, at) => [dayOf(from, unit), ...series.map(({ counts }) => counts[at] ?? '')]),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** /admin/statistics with its file, and what the dashboard shows of it. */
export function addPages({ plugin, admin, protection, web, numbers }: PageDeps): void {
  const query = Type.Object({
    unit: Type.Optional(Type.Enum([...UNITS])),
    format: Type.Optional(Type.Enum(['csv'], { description: 'A file with the numbers instead of the page.' })),
  });
  plugin.extend(adminSections, { group: 'overview' as const, label: 'statistics:title', href: PATH }, -90);

  const number = (value: number): string => value.toLocaleString(web.language);
  const named = (moment: Date, unit: Unit): string =>
    moment.toLocaleDateString(web.language, {
      timeZone: 'UTC',
      month: 'short',
      ...(unit === 'day' ? { day: 'numeric' } : { year: 'numeric' }),
    });
  /** A tile: the number of the periods that are shown, and the one before. */
  const tileOf = ({ label, kind, total, before }: Series, unit: Unit): object => ({
    label,
    text: number(total),
    note: web.say(
      phrase(kind === 'people' ? `statistics:${unit}.average` : 'statistics:before', { before: number(before) }),
    ),
  });

  plugin.route(pages, { method: 'get', path: PATH, can: administer, query })(
    async ({ res, query: { unit = 'day', format } }) => {
      const found = await numbers.read(unit);
      const { periods, series, countedAt } = found;
      if (format === 'csv') {
        protection.startDownload(res, { name: `statistics-${unit}.csv`, type: 'text/csv; charset=utf-8' });
        res.end(csvOf(found));
        // Ignored, since the response has already been sent.
        return redirect(PATH);
      }
      const model = {
        unit,
        countedAt,
        tabs: UNITS.map((one) => ({ label: `statistics:${one}`, href: pathOf(one), current: one === unit })),
        tiles: series.map((one) => tileOf(one, unit)),
        csv: `${PATH}?unit=${unit}&format=csv`,
        charts: series.map((one) => {
          const label = web.say(phrase(one.label));
          return chartFigure({
            kind: 'bars',
            title: one.label,
            label: web.say(
              phrase(`statistics:${unit}.said`, { label, total: number(one.total), before: number(one.before) }),
            ),
            step: `statistics:${unit}.one`,
            steps: periods.map(({ from }) => named(from, unit)),
            series: [{ kind: 'first', label, values: one.counts }],
            format: number,
          });
        }),
      };
      return negotiated(
        admin.view('@statistics/statistics', { title: phrase('statistics:title'), current: PATH }, model),
        {
          success: true,
          unit,
          statistics: series,
        },
      );
    },
  );

  plugin.extend(
    slotFillings,
    fill(adminDashboard, async (contexts, viewer) => {
      const { periods, series } = await numbers.read('day');
      const steps = periods.map(({ from }) => named(from, 'day'));
      const model = {
        href: PATH,
        tiles: series.map((one) => {
          const label = web.say(phrase(one.label));
          return {
            ...tileOf(one, 'day'),
            picture: chart({
              kind: 'sparkline',
              label: web.say(
                phrase('statistics:day.said', { label, total: number(one.total), before: number(one.before) }),
              ),
              steps,
              series: [{ kind: 'first', label, values: one.counts }],
            }),
          };
        }),
      };
      const panel = await web.fragment(viewer, '@statistics/dashboard', model);
      return contexts.map(() => panel);
    }),
  );
}
