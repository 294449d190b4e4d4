import { Type } from 'parley-forum';
import { chartFigure, type ChartSeries } from 'parley-forum/plugins/admin';
import { manageWebhooks, type HourRecord, type StatisticsRecord } from 'parley-forum/plugins/webhooks';
import { negotiated, pages, phrase, type Phrase, type Web } from 'parley-forum/plugins/web';
import { PERIODS, type WebhookStatistics, type Period } from './statistics.ts';
import { ROOT, tabs, type PageDeps } from '../page-common.ts';

const PATH = `${ROOT}/stats`;
/** A percentage in the format of the page's language. */
function percent(part: number | null, { language }: Pick<Web, 'language'>): string {
  const format = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return part === null ? '–' : `${(part * 100).toLocaleString(language, format)} %`;
}
const milliseconds = (time: number | null): string => (time === null ? '–' : `${time} ms`);
const rateOf = ({ delivered, failed }: { readonly delivered: number; readonly failed: number }): number | null =>
  delivered + failed === 0 ? null : delivered / (delivered + failed);

/** /admin/webhooks/stats. */
export function addStatisticsPages({ plugin, admin, web, webhooks, statistics }: PageDeps): void {
  plugin.route(pages, {
    method: 'get',
    path: PATH,
    can: manageWebhooks,
    query: Type.Object({
      period: Type.Optional(Type.Enum(Object.keys(PERIODS) as Period[])),
      webhook_id: Type.Optional(Type.String({ maxLength: 64 })),
    }),
  })(async ({ query: { period = '24h', webhook_id: webhookId } }) => {
    const [figures, endpoints, rows] = await Promise.all([
      statistics.read(period, webhookId),
      statistics.endpoints(period),
      webhooks.list(),
    ]);
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    const own = webhookId === undefined ? '' : `&webhook_id=${encodeURIComponent(webhookId)}`;
    const model = {
      tabs: tabs(PATH),
      tiles: tilesOf(figures, web),
      charts: chartsOf(figures, endpoints, names, web),
      name: names.get(webhookId ?? ''),
      periods: (Object.keys(PERIODS) as Period[]).map((label) => ({
        label,
        href: `${PATH}?period=${label}${own}`,
        current: label === period,
      })),
      endpoints: endpointTable(endpoints, names, web),
      hours: hourTable(figures.per_hour),
    };
    return negotiated(admin.view('@webhooks/statistics', { title: phrase('webhooks:pages'), current: ROOT }, model), {
      success: true,
      ...figures,
    });
  });
}

const tilesOf = (
  { deliveries, failed, pending, success_rate: rate, p50_ms: p50, p95_ms: p95 }: StatisticsRecord,
  web: Web,
): readonly object[] => [
  { label: 'webhooks:tile.attempts', text: String(deliveries) },
  {
    label: 'webhooks:tile.success',
    text: percent(rate, web),
    state: rate === null ? undefined : rate < 0.9 ? 'bad' : 'good',
  },
  { label: 'webhooks:tile.failed', text: String(failed), href: `${ROOT}/history?status=failed` },
  { label: 'webhooks:tile.backlog', text: String(pending) },
  { label: 'webhooks:tile.latency', text: milliseconds(p50), note: `p95 ${milliseconds(p95)}` },
];

/** The models of the charts. The hours of all of them are in the table of the page. */
function chartsOf(
  figures: StatisticsRecord,
  endpoints: readonly WebhookStatistics[],
  names: ReadonlyMap<string, string>,
  web: Web,
): readonly object[] {
  const say = (key: string, values?: Phrase['values']): string => web.say(phrase(`webhooks:${key}`, values));
  const hours = figures.per_hour;
  const peak = Math.max(0, ...hours.map(({ delivered, failed }) => delivered + failed));
  const waiting = endpoints.filter(({ pending }) => pending > 0);
  const backlog = waiting.map(({ id, pending }) => `${names.get(id) ?? id} ${pending}`).join(', ');
  const hourly = { step: 'webhooks:table.hour', steps: hours.map(hourText), table: false as const };
  const series = (kind: ChartSeries['kind'], label: string, values: ChartSeries['values']): ChartSeries => ({
    kind,
    label: say(label),
    values,
  });
  return [
    chartFigure({
      ...hourly,
      kind: 'bars',
      title: 'webhooks:chart.deliveries',
      label: say('chart.deliveries.said', {
        all: String(figures.deliveries),
        failed: String(figures.failed),
        peak: String(peak),
      }),
      series: [
        series(
          'good',
          'status.delivered',
          hours.map(({ delivered }) => delivered),
        ),
        series(
          'bad',
          'status.failed',
          hours.map(({ failed }) => failed),
        ),
      ],
    }),
    chartFigure({
      ...hourly,
      kind: 'lines',
      title: 'webhooks:chart.success',
      label: say('chart.success.said', { share: percent(figures.success_rate, web) }),
      series: [series('good', 'tile.success', hours.map(rateOf))],
      highest: 1,
      format: (share) => percent(share, web),
    }),
    chartFigure({
      ...hourly,
      kind: 'lines',
      title: 'webhooks:chart.latency',
      label: say('chart.latency.said', { half: milliseconds(figures.p50_ms), most: milliseconds(figures.p95_ms) }),
      series: [
        series(
          'first',
          'chart.p50',
          hours.map(({ p50_ms: time }) => time),
        ),
        series(
          'second',
          'chart.p95',
          hours.map(({ p95_ms: time }) => time),
        ),
      ],
      format: milliseconds,
    }),
    chartFigure({
      kind: 'bars',
      title: 'webhooks:chart.backlog',
      step: 'webhooks:webhook',
      label: say(backlog === '' ? 'chart.backlog.none' : 'chart.backlog.said', { backlog }),
      steps: waiting.map(({ id }) => names.get(id) ?? id),
      series: [
        series(
          'first',
          'tile.backlog',
          waiting.map(({ pending }) => pending),
        ),
      ],
      table: false,
    }),
  ];
}

const hourText = ({ hour }: HourRecord): string => hour.slice(0, 16).replace('T', ' ');

/** Arguments of `partials/table`. */
function tableOf(
  caption: string,
  columns: readonly string[],
  rows: readonly (readonly { readonly text: string; readonly href?: string }[])[],
): object {
  return {
    caption,
    columns: columns.map((label, at) => ({ label, numeric: at > 0 })),
    rows: rows.map((cells) => ({ cells: cells.map((cell, at) => ({ ...cell, numeric: at > 0, label: columns[at] })) })),
  };
}

const endpointTable = (endpoints: readonly WebhookStatistics[], names: ReadonlyMap<string, string>, web: Web): object =>
  tableOf(
    'webhooks:table.webhooks',
    [
      'webhooks:webhook',
      'webhooks:tile.attempts',
      'webhooks:tile.success',
      'webhooks:tile.failed',
      'webhooks:table.waiting',
      'p50',
      'p95',
    ],
    endpoints.map((one) => [
      { text: names.get(one.id) ?? one.id, href: `${PATH}?webhook_id=${one.id}` },
      { text: String(one.deliveries) },
      { text: percent(rateOf(one), web) },
      { text: String(one.failed) },
      { text: String(one.pending) },
      { text: milliseconds(one.p50_ms) },
      { text: milliseconds(one.p95_ms) },
    ]),
  );

const hourTable = (hours: readonly HourRecord[]): object =>
  tableOf(
    'webhooks:table.hours',
    ['webhooks:table.hour', 'webhooks:table.delivered', 'webhooks:tile.failed', 'p50', 'p95'],
    hours
      .filter(({ delivered, failed }) => delivered + failed > 0)
      .map((one) => [
        { text: hourText(one) },
        { text: String(one.delivered) },
        { text: String(one.failed) },
        { text: milliseconds(one.p50_ms) },
        { text: milliseconds(one.p95_ms) },
      ]),
  );
