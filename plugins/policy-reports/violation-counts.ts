import { messageOf, sql, type Clock, type Data, type Logger } from 'parley-forum';
import type { Violation } from './violations.ts';

const DAY = 86_400_000;
/** The maximum number of distinct violations per day, and of those not yet stored; any others are counted as one. */
const MAX_KINDS = 200;
const OTHERS: Violation = { directive: 'other', blocked: 'many others' };

/** How often a violation was reported in a period. */
export interface ViolationCount extends Violation {
  readonly count: number;
  /** The last day on which it was reported. */
  readonly last: string;
}

export interface ViolationCountsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Counts violations by day: in memory as they arrive, and written to the database every few seconds. Stores nothing
 * about whose browser reported them.
 */
export class ViolationCounts {
  readonly #deps: ViolationCountsDeps;
  #pending = new Map<string, Violation & { count: number }>();
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: ViolationCountsDeps) {
    this.#deps = deps;
  }

  /** Writes at this interval in milliseconds until the returned function is called, which writes the rest. */
  start(interval: number): () => Promise<void> {
    const timer = setInterval(() => void this.flush(), interval).unref();
    return () => {
      clearInterval(timer);
      return this.flush();
    };
  }

  add(violations: readonly Violation[]): void {
    for (const violation of violations) this.#count(violation, 1);
  }

  /** Resolves when everything counted so far is stored. What cannot be stored now is kept for the next time. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** The counts of the given number of days, including today; most frequent first. */
  async list(days: number): Promise<readonly ViolationCount[]> {
    await this.flush();
    return this.#deps.data
      .all(sql<ViolationCount>`select directive, blocked, sum(count)::int as count, max(day)::text as last
        from policy_report
      where day > ${this.#day(days)}::date group by directive, blocked
      order by sum(count) desc, directive, blocked limit ${MAX_KINDS}`);
  }

  async deleteOld(days: number): Promise<void> {
    await this.#deps.data.all(sql`delete from policy_report where day <= ${this.#day(days)}::date`);
  }

  /** The date in UTC, the given number of days ago. */
  #day(ago = 0): string {
    return new Date(this.#deps.clock.now() - ago * DAY).toISOString().slice(0, 10);
  }

  #count(violation: Violation, count: number): void {
    const key = `${violation.directive} ${violation.blocked}`;
    const known = this.#pending.get(key);
    if (known) known.count += count;
    else if (this.#pending.size < MAX_KINDS || violation === OTHERS) this.#pending.set(key, { ...violation, count });
    else this.#count(OTHERS, count);
  }

  async #write(): Promise<void> {
    if (this.#pending.size === 0) return;
    const counted = [...this.#pending.values()];
    this.#pending = new Map();
    try {
      await this.#deps.data.transaction(() => this.#store(counted));
    } catch (error) {
      for (const { count, ...violation } of counted) this.#count(violation, count);
      this.#deps.log.warn(
        { error: messageOf(error) },
        'policy reports could not be stored; they are kept for the next attempt',
      );
    }
  }

  /** Violations beyond the daily limit are counted together. Rows are locked in key order. */
  async #store(counted: readonly (Violation & { readonly count: number })[]): Promise<void> {
    const day = this.#day();
    await this.#deps.data.all(sql`
      with counted as (select * from json_to_recordset(${JSON.stringify(counted)}::json) as t (directive text, blocked text, count int)),
      remaining as (select ${MAX_KINDS - 1} - count(*) as free from policy_report where day = ${day}::date
          and (directive, blocked) <> (${OTHERS.directive}, ${OTHERS.blocked})),
      numbered as (
        select t.*, p.day is not null as known,
          row_number() over (partition by p.day is null order by t.count desc, t.directive, t.blocked) as place
        from counted t left join policy_report p on p.day = ${day}::date and p.directive = t.directive
          and p.blocked = t.blocked
      ),
      placed as (
        select
          case when known or place <= (select free from remaining) then directive else ${OTHERS.directive} end as directive,
          case when known or place <= (select free from remaining) then blocked else ${OTHERS.blocked} end as blocked,
          count from numbered
      )
      insert into policy_report (day, directive, blocked, count)
      select ${day}::date, directive, blocked, sum(count) from placed group by directive, blocked
      order by directive, blocked
      on conflict (day, directive, blocked) do update set count = policy_report.count + excluded.count`);
  }
}
