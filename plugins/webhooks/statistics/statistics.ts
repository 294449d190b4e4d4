import { sql, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import type { HourRecord, StatisticsRecord } from 'parley-forum/plugins/webhooks';

const HOUR = 3_600_000;
/** Periods in hours. */
export const PERIODS = { '24h': 24, '7d': 168, '30d': 720 } as const;
export type Period = keyof typeof PERIODS;

interface HourRow {
  readonly hour: Date | null;
  readonly deliveries: number;
  readonly delivered: number;
  readonly failed: number;
  readonly p50: number | null;
  readonly p95: number | null;
}
/** The values of an hour in which nothing was sent. */
const NOTHING: Omit<HourRow, 'hour'> = { deliveries: 0, delivered: 0, failed: 0, p50: null, p95: null };

/** The statistics of one webhook. */
export interface WebhookStatistics {
  readonly id: string;
  readonly deliveries: number;
  readonly delivered: number;
  readonly failed: number;
  readonly pending: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

const COUNTS = sql`count(*)::integer as deliveries,
  count(*) filter (where d.status = 'delivered')::integer as delivered,
  count(*) filter (where d.status not in ('delivered', 'pending'))::integer as failed`;
const percentile = (part: number): RawBuilder<number> =>
  sql`percentile_disc(${part}::float8) within group (order by d.duration_ms) filter (where d.response_status is not null)`;

export class Statistics {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { readonly data: Data; readonly clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Statistics of the whole hours up to now, for all webhooks or one. Two statements. */
  async read(period: Period, webhookId?: string): Promise<StatisticsRecord> {
    const first = this.#firstHour(period);
    const own = webhookId === undefined ? sql`` : sql`and d.webhook_id = ${isId(webhookId) ? webhookId : null}::uuid`;
    const rows = await this.#data.all(sql<HourRow>`
      select date_trunc('hour', d.created_at, 'UTC') as hour, ${COUNTS}, ${percentile(0.5)} as p50,
        ${percentile(0.95)} as p95
      from webhook_delivery d where d.created_at >= ${first} ${own} group by rollup (1) order by hour`);
    const waiting = await this.#data.one(
      sql<{
        pending: number;
      }>`select count(*)::integer as pending from webhook_delivery d where d.job is not null ${own}`,
    );
    const { deliveries, delivered, failed, p50, p95 } = rows.find(({ hour }) => hour === null) ?? NOTHING;
    const ended = delivered + failed;
    return {
      deliveries,
      delivered,
      failed,
      pending: waiting?.pending ?? 0,
      success_rate: ended === 0 ? null : delivered / ended,
      p50_ms: p50,
      p95_ms: p95,
      per_hour: hoursOf(first, PERIODS[period], rows),
    };
  }

  /** Every webhook with attempts in the period or pending deliveries. One statement. */
  endpoints(period: Period): Promise<readonly WebhookStatistics[]> {
    return this.#data.all(sql<WebhookStatistics>`
      select d.webhook_id as id, ${COUNTS}, count(*) filter (where d.job is not null)::integer as pending,
        ${percentile(0.5)} as p50_ms, ${percentile(0.95)} as p95_ms
      from webhook_delivery d where d.created_at >= ${this.#firstHour(period)} or d.job is not null
      group by d.webhook_id order by failed desc, d.webhook_id`);
  }

  #firstHour(period: Period): Date {
    return new Date((Math.floor(this.#clock.now() / HOUR) - PERIODS[period] + 1) * HOUR);
  }
}

function hoursOf(first: Date, count: number, rows: readonly HourRow[]): readonly HourRecord[] {
  const known = new Map(rows.map((row) => [row.hour?.getTime(), row]));
  return Array.from({ length: count }, (_, at) => {
    const time = first.getTime() + at * HOUR;
    const { delivered, failed, p50, p95 } = known.get(time) ?? NOTHING;
    return { hour: new Date(time).toISOString(), delivered, failed, p50_ms: p50, p95_ms: p95 };
  });
}
