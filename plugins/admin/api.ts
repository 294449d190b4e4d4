import {
  defineAction,
  defineExtensionPoint,
  defineFilter,
  definePermission,
  defineToken,
  firstIdAt,
  sql,
  type Data,
  type FieldProblem,
  type RawBuilder,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Account } from 'parley-forum/plugins/accounts';
import { defineSlot, html, type PageHead, type SafeHtml, type View } from 'parley-forum/plugins/web';

/** May open the admin panel and see the state of the forum. */
export const administer = definePermission('admin.open', { label: 'open the admin panel', default: 'admin' });
/** May change what concerns the whole forum there, including its security. */
export const configure = definePermission('admin.configure', {
  label: 'view and change settings, enable and disable plugins, and retry failed jobs',
  default: 'admin',
});

/** An entry in the admin panel's navigation; the page itself is a route of the plugin on the `pages` surface. */
export interface AdminSection {
  readonly group: 'overview' | 'people' | 'content' | 'integrations' | 'system';
  readonly label: string;
  /** A path below /admin. */
  readonly href: string;
}
export const adminSections = defineExtensionPoint<AdminSection>(
  'admin.sections',
  'Entries of the admin panel’s navigation; each leads to a page of the plugin below `/admin`.',
  { order: 'The position within the entry’s group.' },
);

/** A card on the dashboard: a number or a state, with a link to the details. */
export interface AdminTile {
  readonly label: string;
  readonly href?: string;
  value(): Promise<{ readonly text: string; readonly state?: 'good' | 'warning' | 'bad' }>;
}
export const adminTiles = defineExtensionPoint<AdminTile>(
  'admin.tiles',
  'Cards on the admin dashboard: a number or a state, with a link to the details.',
  { order: 'The position on the dashboard.' },
);

/** A value that another plugin adds for each member in the administrators' list of members. */
export interface MemberColumn {
  /** The value's key in the `columns` of a member, for API clients. */
  readonly name: string;
  /** A text (`plugin:key`) shown before the value. */
  readonly label: string;
  /**
   * Loads the values for all members of a page at once, in order; undefined where there is nothing to show. After 1 s
   * the page is rendered without the column.
   */
  loadMany(
    members: readonly Pick<Account, 'id' | 'username'>[],
    viewer: Viewer,
  ): Promise<readonly (string | undefined)[]>;
}
export const memberColumns = defineExtensionPoint<MemberColumn>(
  'admin.members.columns',
  'Values shown for each member in the administrators’ list of members, next to name, address and group.',
  { order: 'The position among these values.' },
);

/**
 * Settings are about to be stored. Listeners prevent it by adding problems, by key, such as a requirement that the
 * administrator does not meet themselves.
 */
export const settingsSaving = defineFilter<
  readonly FieldProblem[],
  { readonly actor: string | undefined; readonly changes: Readonly<Record<string, unknown>> }
>('admin.settings-saving', 'abort');
/**
 * Settings were stored or reset to their defaults; raised in the transaction of the change. Never includes the values.
 */
export const settingsChanged = defineAction<{
  readonly actor: string | undefined;
  readonly keys: readonly string[];
  readonly reset: boolean;
}>('admin.settings-changed');
/** A plugin is about to be switched on or off; `others` stop with it. If switching fails, `pluginStayed` follows. */
export const pluginSwitched = defineAction<{
  readonly actor: string | undefined;
  readonly plugin: string;
  readonly on: boolean;
  readonly others: readonly string[];
}>('admin.plugin-switched');
/** A plugin could not be switched on or off and stays as it was. */
export const pluginStayed = defineAction<{ readonly actor: string | undefined; readonly plugin: string }>(
  'admin.plugin-stayed',
);
/** A quarantined part of a plugin is about to run again. */
export const pluginReleased = defineAction<{ readonly actor: string | undefined; readonly plugin: string }>(
  'admin.plugin-released',
);
/** Failed jobs were put back into the queue. */
export const workRetried = defineAction<{
  readonly actor: string | undefined;
  readonly listener: string;
  readonly count: number;
}>('admin.work-retried');

/** Wraps a plugin's own admin page in the panel's frame. */
export interface Admin {
  view(template: string, head: Omit<PageHead, 'name'>, model: object, status?: number): View;
}
export const Admin = defineToken<Admin>('Admin');

export const adminDashboard = defineSlot<object>(
  'admin.dashboard',
  'On the admin dashboard, below its tiles: panels with more than one number.',
);
export const adminMember = defineSlot<Pick<Account, 'id' | 'username'>>(
  'admin.member',
  'Among the buttons of each member in the administrators’ list of members.',
);

/** The size of a chart in user units; it is stretched to the space it has, so it contains no text. */
const [CHART_WIDTH, CHART_HEIGHT] = [720, 120];
/** The part of a step that a bar fills. */
const BAR_WIDTH = 0.8;

/** The values of one kind in a chart. */
export interface ChartSeries {
  /** Text shown in the key, in the table and beside each value. */
  readonly label: string;
  /** Determines the colour and, for lines, the dash pattern. */
  readonly kind: 'first' | 'second' | 'third' | 'fourth' | 'good' | 'bad';
  /** One value for each step; null leaves a gap. */
  readonly values: readonly (number | null)[];
}
/** What a chart shows. All texts are in the reader’s language. */
export interface ChartData {
  /**
   * `bars`: one bar for each step, the series stacked. `lines` and `area`: from step to step, interrupted by gaps.
   * `sparkline`: a line without marks, for a place beside a number.
   */
  readonly kind: 'bars' | 'lines' | 'area' | 'sparkline';
  /** A sentence that says what the chart shows, for those who do not see it. */
  readonly label: string;
  /** The names of the steps, such as days. */
  readonly steps: readonly string[];
  readonly series: readonly ChartSeries[];
  /** The value at the upper edge. Default: the greatest one, rounded up. */
  readonly highest?: number;
  /** A value as text. Default: its digits. */
  format?(value: number): string;
}

const roundedUnit = (value: number): number => Math.round(value * 10) / 10;
const valueAt = ({ values }: ChartSeries, step: number): number => values[step] ?? 0;

/** Rounded up to an even number with one digit that counts, so that half of it is a whole number too. */
function roundedUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(2, value)));
  return [1, 2, 4, 6, 8, 10].map((times) => times * unit).find((edge) => edge >= Math.max(2, value)) ?? value;
}

function highestOf({ kind, highest, series, steps }: ChartData): number {
  if (highest !== undefined) return highest;
  const sums = steps.map((_, step) => series.map((one) => valueAt(one, step)).reduce((sum, value) => sum + value, 0));
  return roundedUp(Math.max(0, ...(kind === 'bars' ? sums : series.flatMap(({ values }) => values.map(Number)))));
}

/** `12 May: replies 3`. */
const spoken = ({ steps, format = String }: ChartData, step: number, series: readonly ChartSeries[]): string =>
  `${steps[step] ?? ''}: ${series.map(({ label, values }) => `${label} ${format(values[step] ?? 0)}`).join(', ')}`;

function stackedBars(data: ChartData): readonly SafeHtml[] {
  const [width, scale] = [CHART_WIDTH / Math.max(1, data.steps.length), CHART_HEIGHT / highestOf(data)];
  return data.series.flatMap((one, at) =>
    one.values.flatMap((value, step) => {
      if (!value) return [];
      const below = data.series.slice(0, at).reduce((sum, other) => sum + valueAt(other, step), 0);
      const top = CHART_HEIGHT - (below + value) * scale;
      return [
        html`<rect class="chart-${one.kind}" x="${roundedUnit((step + (1 - BAR_WIDTH) / 2) * width)}" y="${roundedUnit(top)}" width="${roundedUnit(width * BAR_WIDTH)}" height="${roundedUnit(value * scale)}"><title>${spoken(data, step, [one])}</title></rect>`,
      ];
    }),
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}
/** The stretches of a line between its gaps. */
function stretches({ values }: ChartSeries, count: number, highest: number): readonly (readonly Point[])[] {
  const found: Point[][] = [];
  for (const [step, value] of values.entries()) {
    if (value === null) continue;
    const point = {
      x: roundedUnit(((step + 0.5) * CHART_WIDTH) / Math.max(1, count)),
      y: roundedUnit(CHART_HEIGHT - 2 - (value / highest) * (CHART_HEIGHT - 4)),
    };
    const last = found.at(-1);
    if (last === undefined || values[step - 1] === null) found.push([point]);
    else last.push(point);
  }
  return found;
}

function linesOf(data: ChartData): readonly SafeHtml[] {
  const highest = highestOf(data);
  const drawn = data.series.flatMap((one) => {
    const parts = stretches(one, data.steps.length, highest);
    // A path with only a move command draws nothing, so each line starts with a short segment.
    const line = parts
      .map((points) => points.map(({ x, y }, at) => (at === 0 ? `M${x} ${y}h1` : `L${x} ${y}`)).join(''))
      .join('');
    const ground = parts
      .map((points) => {
        const path = points.map(({ x, y }) => `L${x} ${y}`).join('');
        return `M${points[0]?.x} ${CHART_HEIGHT}${path}V${CHART_HEIGHT}Z`;
      })
      .join('');
    return [
      data.kind === 'area' && html`<path class="chart-area chart-${one.kind}" d="${ground}"/>`,
      html`<path class="chart-line chart-${one.kind}" d="${line}"/>`,
    ].filter((path) => path !== false);
  });
  if (data.kind === 'sparkline') return drawn;
  const width = CHART_WIDTH / Math.max(1, data.steps.length);
  const marks = data.steps.flatMap((_, step) => {
    const known = data.series.filter(({ values }) => (values[step] ?? null) !== null);
    if (known.length === 0) return [];
    return [
      html`<rect class="chart-mark" x="${roundedUnit(step * width)}" y="0" width="${roundedUnit(width)}" height="${CHART_HEIGHT}"><title>${spoken(data, step, known)}</title></rect>`,
    ];
  });
  return [...drawn, ...marks];
}

/**
 * A chart as a picture: safe SVG in the colours of the theme. It is mirrored where texts run from right to left. A
 * sparkline stands for itself; the others belong into a figure, `chartFigure`.
 */
export function chart(data: ChartData): SafeHtml {
  const marks = data.kind === 'bars' ? stackedBars(data) : linesOf(data);
  const ground =
    data.kind !== 'sparkline' && html`<path class="chart-ground" d="M0 ${CHART_HEIGHT - 0.5}H${CHART_WIDTH}"/>`;
  return html`<svg class="chart${data.kind === 'sparkline' ? ' chart-spark' : ''}" viewBox="0 0 ${CHART_WIDTH} ${CHART_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${data.label}">${ground}${marks}</svg>`;
}

/** A chart with everything around it. */
export interface ChartFigure extends ChartData {
  /** A text or its key. */
  readonly title: string;
  /** A text or its key: what a step is, at the head of the table. */
  readonly step: string;
  /** `false`: without a table of its own, because one on the page has the values of all charts. */
  readonly table?: false;
  /** The path of a file with these values. */
  readonly csv?: string;
}

/**
 * The model of the template `@admin/chart`: the picture with its scale, its key if there is more than one series, and
 * its values as a table that can be opened.
 */
export function chartFigure(figure: ChartFigure): object {
  const { title, step, steps, series, csv, format = String } = figure;
  const highest = highestOf(figure);
  const columns = [step, ...series.map(({ label }) => label)];
  const textOf = (value: number | null): string => (value === null ? '–' : format(value));
  return {
    title,
    picture: chart(figure),
    keys: series.length > 1 ? series.map(({ kind, label }) => ({ kind, label })) : [],
    scale: [highest, highest / 2, 0].map(format),
    steps: [...new Set([0, Math.floor((steps.length - 1) / 2), steps.length - 1])].flatMap((at) => steps[at] ?? []),
    csv,
    table: figure.table !== false && {
      caption: title,
      columns: columns.map((label, at) => ({ label, numeric: at > 0 })),
      rows: steps.map((name, at) => ({
        cells: [name, ...series.map(({ values }) => textOf(values[at] ?? null))].map((text, column) => ({
          text,
          numeric: column > 0,
          label: columns[column],
        })),
      })),
    },
  };
}

/** A day or a month in UTC: what happened at `from` or later, and before `until`. */
export interface Period {
  readonly from: Date;
  readonly until: Date;
}
/** What a plugin counts of what happens in the community. */
export interface Figure {
  /** Its name for API clients, such as `posts`. */
  readonly name: string;
  /** Text key, such as `discussions:statistics.posts`. */
  readonly label: string;
  /**
   * `sum`: the number of a longer time is the sum of its parts. `people`: it counts different people, so that longer
   * times are compared by their average.
   */
  readonly kind: 'sum' | 'people';
  /**
   * The numbers of these periods, in order; one statement. Must be able to use an index, and count the same for a period
   * that is over whenever it is asked.
   */
  count(periods: readonly Period[]): Promise<readonly number[]>;
}
export const figures = defineExtensionPoint<Figure>(
  'statistics.figures',
  'What is counted for each day and month and shown to administrators, such as new posts.',
  { order: 'The position among the numbers.' },
);

/**
 * Counts rows by period through an index. `select` has the column `count` for one period, with `p.first` and `p.beyond`
 * as its bounds: times, or with `ids` the ids of rows created then.
 */
export async function countByPeriod(
  data: Data,
  periods: readonly Period[],
  select: RawBuilder<{ readonly count: number }>,
  { ids = false }: { readonly ids?: boolean } = {},
): Promise<readonly number[]> {
  const bound = (moment: Date): string => (ids ? firstIdAt(moment.getTime()) : moment.toISOString());
  const type = ids ? sql`uuid[]` : sql`timestamptz[]`;
  const found = await data.all(sql<{ count: number }>`
    select c.count from unnest(${periods.map(({ from }) => bound(from))}::${type},
        ${periods.map(({ until }) => bound(until))}::${type}) with ordinality p(first, beyond, place)
      cross join lateral (${select}) c order by p.place`);
  return found.map(({ count }) => count);
}
