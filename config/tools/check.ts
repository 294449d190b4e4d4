import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Check } from './checks/support/check.ts';
import { CHECKS } from './checks/index.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Number of checks that run concurrently; more would only slow each other down on a small machine. */
const AT_ONCE = 2;

interface Result {
  readonly name: string;
  readonly problems: readonly string[];
}

/** A check that throws is reported as a problem, too. */
async function run({ name, run: look, figures }: Check): Promise<Result> {
  const start = performance.now();
  const problems = await look(ROOT).catch((error: unknown) => [
    `the check itself failed: ${error instanceof Error ? error.message : String(error)}`,
  ]);
  const mark = problems.length === 0 ? styleText('green', '✓') : styleText('red', '✗');
  console.log(
    `${mark} ${name} (${((performance.now() - start) / 1_000).toFixed(1)} s)${figures ? `: ${figures(ROOT)}` : ''}`,
  );
  return { name, problems };
}

async function runAll(checks: readonly Check[]): Promise<readonly Result[]> {
  const waiting = [...checks];
  const results: Result[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.push(await run(next));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** Runs all tests: those usually shortened in their long form, and those in test/full. */
async function runTests(): Promise<boolean> {
  const child = spawn(
    process.execPath,
    [resolve(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'config/vitest.ts'],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, PARLEY_FULL: '1' } },
  );
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

// As in the server, a rejection that a plugin did not handle is reported and does not end the process.
process.on('unhandledRejection', (reason) =>
  console.warn(`unhandled rejection: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`),
);

if (process.argv.includes('--write')) {
  const { writeReference } = await import('./reference.ts');
  console.log(`written: ${(await writeReference(ROOT)).join(', ')}`);
}
const failed = (await runAll(CHECKS)).filter(({ problems }) => problems.length > 0);
for (const { name, problems } of failed)
  console.log(`\n${styleText('bold', name)}\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
const count = failed.reduce((sum, { problems }) => sum + problems.length, 0);
console.log(
  count === 0
    ? '\nAll checks passed.'
    : `\n${count} ${count === 1 ? 'problem' : 'problems'} in ${failed.length} of ${CHECKS.length} checks.`,
);
const tested = !process.argv.includes('--full') || (await runTests());
process.exitCode = count === 0 && tested ? 0 : 1;
