import { existsSync } from 'node:fs';
import { leftOut } from './suites.ts';

/**
 * Run by vitest once before all tests: reports the suites that are skipped, and fails if everything must run
 * (PARLEY_REQUIRE_ALL=1).
 */
export default function announceSuites(): void {
  const suites = leftOut(process.env, existsSync);
  for (const { name, why } of suites) console.log(`Skipped: ${name}; ${why}.`);
  if (suites.length > 0 && process.env['PARLEY_REQUIRE_ALL'] === '1')
    throw new Error('PARLEY_REQUIRE_ALL=1, but some suites cannot run here; see above');
}
