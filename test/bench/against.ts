import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { median } from './median.ts';
import { columns, rounded, type Report } from './report.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');
const BENCH = 'test/bench';
/** Where this tree's bench lies in the earlier tree, for parts that the earlier bench does not have. */
const BENCH_OF_NOW = 'test/bench-of-now';
/** Turns of each: the median of three outlives one that was disturbed. */
const TURNS = 3;
/** No figure of this tree may be worse than this share of the earlier one's. */
export const LEAST = 0.95;

/** One figure here and at an earlier commit, measured in turns on the same machine. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly earlier: number;
  readonly now: number;
  /** How much better it is now: above 1 for more requests a second as for fewer milliseconds. */
  readonly ratio: number;
}

/**
 * Measures the parts, `quick` as `--quick` does, of this tree and of the one at `commit` in turns, each by its own bench;
 * a part that the earlier bench does not have is measured there by this tree's. What only one of the two measures is
 * left out.
 */
export async function compare(
  commit: string,
  parts: readonly string[],
  { quick, say }: { readonly quick: boolean; say(line: string): void },
): Promise<readonly Comparison[]> {
  const earlier = await mkdtemp(join(tmpdir(), 'parley-earlier-'));
  try {
    await run('git', ['worktree', 'add', '--detach', '--force', earlier, commit], { cwd: ROOT });
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: earlier });
    await cp(join(ROOT, BENCH), join(earlier, BENCH_OF_NOW), { recursive: true });
    const compared: Comparison[] = [];
    for (const part of parts) {
      const before: Report[] = [];
      const after: Report[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        say(`${part}, turn ${turn + 1} of ${TURNS} …`);
        before.push(await measureEarlier(earlier, part, quick));
        after.push(await measure(join(ROOT, BENCH), part, quick));
      }
      compared.push(...compareReports(before, after));
    }
    return compared;
  } finally {
    await run('git', ['worktree', 'remove', '--force', earlier], { cwd: ROOT }).catch(() => undefined);
    await rm(earlier, { recursive: true, force: true });
  }
}

async function measureEarlier(tree: string, part: string, quick: boolean): Promise<Report> {
  const own = await measure(join(tree, BENCH), part, quick);
  return own.results.length > 0 ? own : measure(join(tree, BENCH_OF_NOW), part, quick);
}

async function measure(bench: string, part: string, quick: boolean): Promise<Report> {
  const folder = resolve(bench, '../..');
  const words = [join(bench, 'main.ts'), '--json', '--only', part, ...(quick ? ['--quick'] : [])];
  const node = join(folder, 'node_modules/.bin/node');
  // A goal that is missed ends it with 1; what it measured is printed all the same.
  const { stdout } = await run(node, words, { cwd: folder, maxBuffer: 2 ** 24 }).catch(
    (error: Error & { readonly stdout: string }) => {
      if (!error.stdout.includes('"results"')) throw error;
      return error;
    },
  );
  return JSON.parse(stdout.slice(stdout.indexOf('{"database"'))) as Report;
}

function compareReports(before: readonly Report[], after: readonly Report[]): readonly Comparison[] {
  const figures = (reports: readonly Report[], name: string): readonly number[] =>
    reports.flatMap(({ results }) =>
      results.filter((result) => result.name === name).flatMap(({ ratio, value }) => ratio ?? value ?? []),
    );
  return after[0]!.results.flatMap(({ name, unit, ratio: ofBare, atMost }) => {
    const [then, now] = [figures(before, name), figures(after, name)];
    if (then.length === 0 || now.length === 0) return [];
    const [earlier, current] = [median(then), median(now)];
    const ratio = atMost ? earlier / current : current / earlier;
    return [{ name, unit: ofBare === null ? unit : 'of the baseline', earlier, now: current, ratio }];
  });
}

/** A table for people; what is worse than it may be is marked. */
export const comparisonTable = (compared: readonly Comparison[]): string =>
  columns([
    ['what', 'then', 'now', '', 'better by', ''],
    ...compared.map(({ name, unit, earlier, now, ratio }) => [
      name,
      rounded(earlier),
      rounded(now),
      unit,
      ratio.toFixed(2),
      ratio < LEAST ? 'WORSE' : '',
    ]),
  ]);
