import { Type } from 'parley-forum';
import { manageWebhooks, type HourRecord, type StatisticsRecord } from 'parley-forum/plugins/webhooks';
import { negotiated, pages, phrase, type SafeHtml } from 'parley-forum/plugins/web';
import { lines, stackedBars } from './charts.ts';
import { PERIODS, type WebhookStatistics, type Period } from './statistics.ts';
import { ROOT, tabs, type PageDeps } from '../page-common.ts';

const PATH = `${ROOT}/stats`;
const percent = (part: number | null): string => (part === null ? '–' : `${(part * 100).toFixed(1)} %`);
const milliseconds = (time: number | null): string => (time === null ? '–' : `${time} ms`);
const rateOf = ({ delivered, failed }: { readonly delivered: number; readonly failed: number }): number | null =>
  delivered + failed === 0 ? null : delivered / (delivered + failed);

/** /admin/webhooks/stats. */
export function addStatisticsPages({ plugin, admin, webhooks, statistics }: PageDeps): void {
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
      tiles: tilesOf(figures),
      charts: chartsOf(figures, endpoints, names),
      name: names.get(webhookId ?? ''),
      periods: (Object.keys(PERIODS) as Period[]).map((label) => ({
        label,
        href: `${PATH}?period=${label}${own}`,
        current: label === period,
      })),
      endpoints: endpointTable(endpoints, names),
      hours: hourTable(figures.per_hour),
    };
    return negotiated(admin.view('@webhooks/statistics', { title: phrase('webhooks:pages'), current: ROOT }, model), {
      success: true,
      ...figures,
    });
  });
}

const tilesOf = ({
  deliveries,
  failed,
  pending,
  success_rate: rate,
  p50_ms: p50,
  p95_ms: p95,
}: StatisticsRecord): readonly object[] => [
  { label: 'webhooks:tile.attempts', text: String(deliveries) },
  {
    label: 'webhooks:tile.success',
    text: percent(rate),
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
): readonly Chart[] {
  const hours = figures.per_hour;
  const peak = Math.max(0, ...hours.map(({ delivered, failed }) => delivered + failed));
  const waiting = endpoints.filter(({ pending }) => pending > 0);
  const backlog = waiting.map(({ id, pending }) => `${names.get(id) ?? id} ${pending}`).join(', ') || 'none';
  return [
    {
      title: 'webhooks:chart.deliveries',
      keys: [
        { kind: 'good', label: 'webhooks:status.delivered' },
        { kind: 'bad', label: 'webhooks:status.failed' },
      ],
      picture: stackedBars(
        `Attempts each hour: ${figures.deliveries} in all, ${figures.failed} failed, at most ${peak} in an hour`,
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
        `Share that arrived each hour: ${percent(figures.success_rate)} over all`,
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
      picture: lines(
        `Time to the answer each hour: half within ${milliseconds(figures.p50_ms)}, 95 of 100 within ${milliseconds(figures.p95_ms)} over all`,
        [
          { kind: 'first', values: hours.map(({ p50_ms: time }) => time) },
          { kind: 'second', values: hours.map(({ p95_ms: time }) => time) },
        ],
      ),
    },
    {
      title: 'webhooks:chart.backlog',
      keys: [],
      picture: stackedBars(`Waiting now: ${backlog}`, [
        { kind: 'first', values: waiting.map(({ pending }) => pending) },
      ]),
    },
  ];
}

/** What `partials/table` takes. */
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

const endpointTable = (endpoints: readonly WebhookStatistics[], names: ReadonlyMap<string, string>): object =>
  tableOf(
    'Webhooks, most failures first',
    ['Webhook', 'Attempts', 'Arrived', 'Failed', 'Waiting', 'p50', 'p95'],
    endpoints.map((one) => [
      { text: names.get(one.id) ?? one.id, href: `${PATH}?webhook_id=${one.id}` },
      { text: String(one.deliveries) },
      { text: percent(rateOf(one)) },
      { text: String(one.failed) },
      { text: String(one.pending) },
      { text: milliseconds(one.p50_ms) },
      { text: milliseconds(one.p95_ms) },
    ]),
  );

const hourTable = (hours: readonly HourRecord[]): object =>
  tableOf(
    'Hours in which something was sent',
    ['Hour (UTC)', 'Delivered', 'Failed', 'p50', 'p95'],
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
