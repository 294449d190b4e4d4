import { sql, type Clock, type Counter, type Data, type Extension, type PluginHandle } from 'parley-forum';
import type { Figure, Period } from 'parley-forum/plugins/admin';
import { periodsOf, SHOWN, UNITS, type Unit } from './periods.ts';

/**
 * Milliseconds after the end of a period from which its number is final. What was written at its end may be stored a
 * little later.
 */
const SETTLED = 5 * 60_000;
/** Milliseconds that a figure may take to count for a page, and for the job. */
const [PAGE_TIMEOUT, JOB_TIMEOUT] = [2_000, 60_000];
/** Periods counted together: a month of days, but single months. */
const TOGETHER: Readonly<Record<Unit, number>> = { day: 31, month: 1 };

interface Row {
  readonly start: Date;
  readonly name: string;
  readonly count: number;
  readonly counted_at: Date;
}
/** The numbers of one figure. */
export interface Series {
  readonly name: string;
  readonly label: string;
  readonly kind: Figure['kind'];
  /** One for each period that is shown; null if it has not been counted yet. */
  readonly counts: readonly (number | null)[];
  /** Of all these periods together, and of as many before them: sums, or averages of figures that count people. */
  readonly total: number;
  readonly before: number;
}
export interface Numbers {
  readonly unit: Unit;
  readonly periods: readonly Period[];
  readonly series: readonly Series[];
  /** When the newest period was counted; undefined if there is nothing to count. */
  readonly countedAt: Date | undefined;
}

/** What was counted of these periods, beginning at `now`. */
interface Counted {
  readonly periods: readonly Period[];
  readonly counts: readonly number[];
  readonly now: Date;
}
interface StoreDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly attempt: PluginHandle['attempt'];
  figures(): readonly Extension<Figure>[];
}

/** Numbers of each day and month, counted by a job and kept as rows, so that reading them costs the same for any forum. */
export class NumberStore {
  readonly #deps: StoreDeps;

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  /** The numbers of the last days or months. One statement; before the first count, one more for each figure. */
  async read(unit: Unit): Promise<Numbers> {
    const all = periodsOf(unit, this.#now());
    const stored = await this.#rows(unit, all);
    const rows = stored.length > 0 ? stored : await this.#counted(all);
    const known = new Map(rows.map((row) => [`${row.start.getTime()} ${row.name}`, row]));
    const [earlier, periods] = [all.slice(0, SHOWN[unit]), all.slice(SHOWN[unit])];
    const series = this.#deps.figures().map(({ value: { name, label, kind } }): Series => {
      const countsOf = (some: readonly Period[]): readonly (number | null)[] =>
        some.map(({ from }) => known.get(`${from.getTime()} ${name}`)?.count ?? null);
      const counts = countsOf(periods);
      return { name, label, kind, counts, total: totalOf(kind, counts), before: totalOf(kind, countsOf(earlier)) };
    });
    return { unit, periods, series, countedAt: rows.at(-1)?.counted_at };
  }

  /**
   * Counts the periods whose numbers are not final yet, newest first, and deletes those that are too old. What was
   * counted stays if it is interrupted.
   */
  async count(signal: AbortSignal): Promise<void> {
    // The content that a forum is installed with may be older than the forum, and would come too late.
    if (await this.#isEmpty()) return;
    const now = this.#now();
    for (const unit of UNITS) {
      const periods = periodsOf(unit, now);
      const final = new Set((await this.#rows(unit, periods)).filter((row) => isFinal(row, periods)).map(keyOf));
      for (const figure of this.#deps.figures()) {
        const { name } = figure.value;
        const missing = periods.filter(({ from }) => !final.has(keyOf({ start: from, name }))).toReversed();
        for (let at = 0; at < missing.length && !signal.aborted; at += TOGETHER[unit]) {
          const some = missing.slice(at, at + TOGETHER[unit]);
          const counts = await this.#countsOf(figure, some, JOB_TIMEOUT);
          // One that fails is counted again in an hour.
          if (!counts) break;
          await this.#write(unit, name, { periods: some, counts, now });
        }
      }
      await this.#deps.data.all(
        sql`delete from statistics_number where unit = ${unit} and start < ${periods[0]?.from ?? now}`,
      );
    }
  }

  /** Compares final numbers with what was written, and corrects them: an import may bring what was written earlier. */
  counter(unit: Unit): Counter {
    const { data } = this.#deps;
    return {
      name: unit === 'day' ? 'numbers of days' : 'numbers of months',
      keys: async ({ after, limit, descending = false }) => {
        const periods = periodsOf(unit, this.#now());
        const keys = (await this.#rows(unit, periods)).filter((row) => isFinal(row, periods)).map(keyOf);
        const ordered = descending ? keys.toReversed() : keys;
        return ordered.slice(after === undefined ? 0 : ordered.indexOf(after) + 1).slice(0, limit);
      },
      check: async (keys) => {
        const wrong = await this.#wrong(unit, keys);
        return wrong.map(({ row, count }) => `${keyOf(row)}: ${row.count}, but ${count}`);
      },
      repair: async (keys) => {
        for (const { row, count } of await this.#wrong(unit, keys))
          await data.all(sql`update statistics_number set count = ${count}
            where unit = ${unit} and start = ${row.start} and name = ${row.name}`);
      },
    };
  }

  async #wrong(unit: Unit, keys: readonly string[]): Promise<readonly { readonly row: Row; readonly count: number }[]> {
    const periods = periodsOf(unit, this.#now());
    const asked = new Set(keys);
    const rows = (await this.#rows(unit, periods)).filter((row) => asked.has(keyOf(row)));
    const found = await Promise.all(
      this.#deps.figures().map(async ({ value: figure }) => {
        const own = rows.filter(({ name }) => name === figure.name);
        const counts = await figure.count(own.flatMap((row) => periodOf(row, periods) ?? []));
        return own.map((row, at) => ({ row, count: counts[at] ?? 0 }));
      }),
    );
    return found.flat().filter(({ row, count }) => row.count !== count);
  }

  #rows(unit: Unit, periods: readonly Period[]): Promise<readonly Row[]> {
    return this.#deps.data.all(sql<Row>`select start, name, count, counted_at from statistics_number
      where unit = ${unit} and start >= ${periods[0]?.from ?? this.#now()} order by start, name`);
  }

  /** What is not stored yet; figures that fail are left out. */
  async #counted(periods: readonly Period[]): Promise<readonly Row[]> {
    const now = this.#now();
    const rows = await Promise.all(
      this.#deps.figures().map(async (figure) => {
        const counts = await this.#countsOf(figure, periods, PAGE_TIMEOUT);
        const { name } = figure.value;
        return counts
          ? periods.map(({ from }, at): Row => ({ start: from, name, count: counts[at] ?? 0, counted_at: now }))
          : [];
      }),
    );
    return rows.flat();
  }

  /** Undefined if the figure fails or takes longer than `deadline` milliseconds. */
  #countsOf(
    { plugin, value }: Extension<Figure>,
    periods: readonly Period[],
    deadline: number,
  ): Promise<readonly number[] | undefined> {
    return this.#deps.attempt(plugin, `number ${value.name}`, () => value.count(periods), deadline);
  }

  async #isEmpty(): Promise<boolean> {
    const periods = periodsOf('month', this.#now());
    if ((await this.#rows('month', periods)).length > 0) return false;
    for (const figure of this.#deps.figures())
      if ((await this.#countsOf(figure, periods, JOB_TIMEOUT))?.some((count) => count > 0)) return false;
    return true;
  }

  async #write(unit: Unit, name: string, { periods, counts, now }: Counted): Promise<void> {
    await this.#deps.data.all(sql`insert into statistics_number (unit, start, name, count, counted_at)
      select ${unit}, n.start, ${name}, n.count, ${now}
      from unnest(${periods.map(({ from }) => from.toISOString())}::timestamptz[], ${counts}::integer[]) n(start, count)
      on conflict (unit, start, name) do update set count = excluded.count, counted_at = excluded.counted_at`);
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

const keyOf = ({ start, name }: Pick<Row, 'start' | 'name'>): string => `${start.toISOString()} ${name}`;
const periodOf = ({ start }: Row, periods: readonly Period[]): Period | undefined =>
  periods.find(({ from }) => from.getTime() === start.getTime());
const isFinal = (row: Row, periods: readonly Period[]): boolean => {
  const end = periodOf(row, periods)?.until.getTime();
  return end !== undefined && row.counted_at.getTime() >= end + SETTLED;
};

/** The sum, or for people the average of the periods that were counted, to one decimal place. */
function totalOf(kind: Figure['kind'], counts: readonly (number | null)[]): number {
  const known = counts.filter((count) => count !== null);
  const sum = known.reduce((all, count) => all + count, 0);
  return kind === 'sum' || known.length === 0 ? sum : Math.round((sum * 10) / known.length) / 10;
}
