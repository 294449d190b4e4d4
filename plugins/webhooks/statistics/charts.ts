import { html, type SafeHtml } from 'parley-forum/plugins/web';

/** Size in user units; the image scales to the available width. */
const [WIDTH, HEIGHT] = [720, 120];
/** Fraction of a step that a bar fills. */
const FILLED = 0.8;

export interface Series {
  /** Determines the colour and, for lines, the dash pattern. */
  readonly kind: 'good' | 'bad' | 'first' | 'second';
  /** One value per step; null leaves a gap. */
  readonly values: readonly (number | null)[];
}

/** `label` is a sentence that describes the chart. */
const picture = (label: string, content: readonly SafeHtml[]): SafeHtml =>
  html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}"><path class="chart-ground" d="M0 ${HEIGHT - 0.5}H${WIDTH}"/>${content}</svg>`;

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** Stacked bars. `highest` is the value of a full-height bar. */
export function stackedBars(label: string, series: readonly Series[]): SafeHtml {
  const steps = series[0]?.values.length ?? 0;
  const sumAt = (step: number, until: number): number =>
    series.slice(0, until).reduce((sum, { values }) => sum + (values[step] ?? 0), 0);
  const highest = Math.max(1, ...Array.from({ length: steps }, (_, step) => sumAt(step, series.length)));
  const [step, scale] = [WIDTH / Math.max(1, steps), HEIGHT / highest];
  const bars = series.flatMap(({ kind, values }, at) =>
    values.flatMap((value, index) => {
      if (!value) return [];
      const top = HEIGHT - (sumAt(index, at) + value) * scale;
      return [
        html`<rect class="chart-${kind}" x="${rounded(index * step)}" y="${rounded(top)}" width="${rounded(step * FILLED)}" height="${rounded(value * scale)}"/>`,
      ];
    }),
  );
  return picture(label, bars);
}

/** Lines from left to right, interrupted where values are missing; a single value between two gaps is a dot. */
export function lines(
  label: string,
  series: readonly Series[],
  highest = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))),
): SafeHtml {
  const drawn = series.map(({ kind, values }) => {
    const step = WIDTH / Math.max(1, values.length);
    const points = values.map((value, index) =>
      value === null
        ? undefined
        : `${rounded((index + FILLED / 2) * step)} ${rounded(HEIGHT - 2 - (value / highest) * (HEIGHT - 4))}`,
    );
    // A path with only a move command draws nothing, so each line starts with a short segment.
    const path = points
      .flatMap((point, index) =>
        point === undefined ? [] : [points[index - 1] === undefined ? `M${point}h4` : `L${point}`],
      )
      .join('');
    return html`<path class="chart-line chart-${kind}" d="${path}"/>`;
  });
  return picture(label, drawn);
}
