import { Type } from 'parley-forum';
import { manageWebhooks, type HourRecord, type StatisticsRecord } from 'parley-forum/plugins/webhooks';
import { negotiated, pages, phrase, type Phrase, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { lines, stackedBars } from './charts.ts';
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

interface Chart {
  readonly title: string;
  readonly picture: SafeHtml;
  readonly keys: readonly { readonly kind: string; readonly label: string }[];
}

function chartsOf(
  figures: StatisticsRecord,
  endpoints: readonly WebhookStatistics[],
  names: ReadonlyMap<string, string>,
  web: Web,
): readonly Chart[] {
  const say = (key: string, values: Phrase['values']): string => web.say(phrase(`webhooks:chart.${key}`, values));
  const hours = figures.per_hour;
  const peak = Math.max(0, ...hours.map(({ delivered, failed }) => delivered + failed));
  const waiting = endpoints.filter(({ pending }) => pending > 0);
  const backlog = waiting.map(({ id, pending }) => `${names.get(id) ?? id} ${pending}`).join(', ');
  return [
    {
      title: 'webhooks:chart.deliveries',
      keys: [
        { kind: 'good', label: 'webhooks:status.delivered' },
        { kind: 'bad', label: 'webhooks:status.failed' },
      ],
      picture: stackedBars(
        say('deliveries.said', { all: String(figures.deliveries), failed: String(figures.failed), peak: String(peak) }),
        [
          { kind: 'good', values: hours.map(({ delivered }) => delivered) },
          { kind: 'bad', values: hours.map(({ failed }) => failed) },
        ],
      ),
    },
    {
      title: 'webhooks:chart.success',
      keys: [],
      picture: lines(
        say('success.said', { share: percent(figures.success_rate, web) }),
        [{ kind: 'good', values: hours.map(rateOf) }],
        1,
      ),
    },
    {
      title: 'webhooks:chart.latency',
      keys: [
        { kind: 'first', label: 'webhooks:chart.p50' },
        { kind: 'second', label: 'webhooks:chart.p95' },
      ],
      picture: lines(say('latency.said', { half: milliseconds(figures.p50_ms), most: milliseconds(figures.p95_ms) }), [
        { kind: 'first', values: hours.map(({ p50_ms: time }) => time) },
        { kind: 'second', values: hours.map(({ p95_ms: time }) => time) },
      ]),
    },
    {
      title: 'webhooks:chart.backlog',
      keys: [],
      picture: stackedBars(say(backlog === '' ? 'backlog.none' : 'backlog.said', { backlog }), [
        { kind: 'first', values: waiting.map(({ pending }) => pending) },
      ]),
    },
  ];
}

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
        { text: one.hour.slice(0, 16).replace('T', ' ') },
        { text: String(one.delivered) },
        { text: String(one.failed) },
        { text: milliseconds(one.p50_ms) },
        { text: milliseconds(one.p95_ms) },
      ]),
  );
