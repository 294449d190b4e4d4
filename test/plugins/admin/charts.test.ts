import { describe, expect, test } from 'vitest';
import { chart, chartFigure, type ChartData } from 'parley-forum/plugins/admin';

const DAYS = ['1 May', '2 May', '3 May'];
const posts = { label: 'Posts', kind: 'first', values: [3, 0, 7] } as const;
const replies = { label: 'Replies', kind: 'second', values: [1, 2, null] } as const;
const data = (kind: ChartData['kind'], more: Partial<ChartData> = {}): ChartData => ({
  kind,
  label: 'Posts each day',
  steps: DAYS,
  series: [posts, replies],
  ...more,
});
const drawn = (given: ChartData): string => chart(given).toString();
const texts = (svg: string): readonly string[] => [...svg.matchAll(/<title>(.*?)<\/title>/g)].map(([, text]) => text!);

describe('a chart', () => {
  test('of bars stacks its series, and each bar says its value', () => {
    const svg = drawn(data('bars'));
    expect(texts(svg)).toEqual(['1 May: Posts 3', '3 May: Posts 7', '1 May: Replies 1', '2 May: Replies 2']);
    // The greatest sum is 7, so the upper edge is 8, and 120 units stand for it.
    expect(svg).toContain('class="chart-first" x="24" y="75" width="192" height="45"');
    expect(svg).toContain('class="chart-second" x="24" y="60" width="192" height="15"');
  });

  test('of lines ends where values are missing, and each step says all its values', () => {
    const svg = drawn(data('lines', { series: [{ ...replies, values: [1, null, 2] }, posts] }));
    expect(svg.match(/<path class="chart-line chart-second" d="([^"]*)"/)?.[1]?.match(/M/g)).toHaveLength(2);
    expect(texts(svg)).toEqual(['1 May: Replies 1, Posts 3', '2 May: Posts 0', '3 May: Replies 2, Posts 7']);
    expect(svg).not.toContain('chart-area');
    expect(drawn(data('area'))).toContain('<path class="chart-area chart-first"');
  });

  test('as a sparkline is one line without marks and ground', () => {
    const svg = drawn(data('sparkline', { series: [posts] }));
    expect(svg).toContain('class="chart chart-spark"');
    expect([texts(svg), svg.includes('chart-ground')]).toEqual([[], false]);
  });

  test('says what it shows, has no styles of its own, and what is named in it stays text', () => {
    const svg = drawn(data('bars', { label: '"<b>"', steps: ['<script>', 'b', 'c'] }));
    expect(svg).toContain('role="img" aria-label="&quot;&lt;b&gt;&quot;"');
    expect(svg).toContain('<title>&lt;script&gt;: Posts 3</title>');
    expect(svg).not.toMatch(/style=|<script/);
  });

  test('of nothing is a ground without marks', () => {
    expect(drawn(data('bars', { steps: [], series: [] }))).toContain('chart-ground');
    expect(drawn(data('lines', { steps: [], series: [{ ...posts, values: [] }] }))).not.toMatch(/NaN|undefined/);
  });
});

describe('the figure of a chart', () => {
  const figure = { ...data('bars'), title: 'Posts', step: 'Day' };

  test('has a scale of whole numbers, the ends and the middle of its steps, and a key', () => {
    expect(chartFigure(figure)).toMatchObject({
      scale: ['8', '4', '0'],
      steps: DAYS,
      keys: [
        { kind: 'first', label: 'Posts' },
        { kind: 'second', label: 'Replies' },
      ],
    });
    expect(chartFigure({ ...figure, series: [posts] })).toMatchObject({ keys: [] });
  });

  test.each([
    [0, 2],
    [1, 2],
    [5, 6],
    [10, 10],
    [11, 20],
    [61, 80],
    [999, 1000],
  ])('whose greatest value is %i ends at %i', (value, edge) => {
    const found = chartFigure({ ...figure, series: [{ ...posts, values: [value, 0, 0] }] });
    expect(found).toMatchObject({ scale: [String(edge), String(edge / 2), '0'] });
  });

  test('has all values as a table, with a dash where one is missing, unless the page has one', () => {
    const { table } = chartFigure(figure) as { table: { rows: { cells: { text: string }[] }[] } };
    expect(table.rows.map(({ cells }) => cells.map(({ text }) => text))).toEqual([
      ['1 May', '3', '1'],
      ['2 May', '0', '2'],
      ['3 May', '7', '–'],
    ]);
    expect(chartFigure({ ...figure, table: false })).toMatchObject({ table: false });
  });
});
