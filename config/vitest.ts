import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { browserPath, leftOut } from './tools/suites.ts';

const KERNEL_AND_PLUGINS = ['test/core/**/*.test.ts', 'test/plugins/**/*.test.ts'];
/** Tests that need several processes on one PostgreSQL and one Redis. */
const SEVERAL = 'test/**/*.server.test.ts';
/** Tests that open no database: once is enough. */
const WITHOUT = [
  'test/core/{command-line,graph}.test.ts',
  'test/plugins/cache/{cache,exactness,fleet}.test.ts',
  'test/plugins/limits/address-key.test.ts',
  'test/plugins/protection/proxies.test.ts',
  'test/plugins/secrets/secrets.test.ts',
  'test/plugins/web/{forms,templates,tokens}.test.ts',
];
const suites = leftOut(process.env, existsSync);
const runs = (name: string): boolean => !suites.some((suite) => suite.name === name);

/**
 * Three workers, because tests wait for leases and timers a third of their time; each embedded database takes some 400 MB. Files share their worker's modules, because
 * loading them and warming up the embedded database takes longer than most files' tests; no module keeps state.
 */
const shared = {
  environment: 'node',
  pool: 'forks',
  isolate: false,
  testTimeout: 30_000,
  hookTimeout: 60_000,
} as const;

export default defineConfig({
  test: {
    globalSetup: ['config/tools/announce-suites.ts', 'config/tools/test-run.ts'],
    maxWorkers: 3,
    projects: [
      { test: { ...shared, name: 'static', include: ['test/*.test.ts', 'config/tools/**/*.test.ts'], testTimeout: 180_000 } },
      { test: { ...shared, name: 'embedded', include: KERNEL_AND_PLUGINS, exclude: [SEVERAL], env: { PARLEY_TEST_DATABASE: 'embedded' } } },
      ...(runs('server') ? [{ test: { ...shared, name: 'server', include: KERNEL_AND_PLUGINS, exclude: runs('several processes') ? WITHOUT : [...WITHOUT, SEVERAL], env: { PARLEY_TEST_DATABASE: 'server' } } }] : []),
      ...(process.env['PARLEY_FULL'] === '1' ? [{ test: { ...shared, name: 'full', include: ['test/full/**/*.test.ts'], testTimeout: 1_800_000, env: { PARLEY_TEST_DATABASE: process.env['TEST_DATABASE_URL'] ? 'server' : 'embedded' } } }] : []),
      ...(runs('browser') ? [{ test: { ...shared, name: 'browser', include: ['test/browser/**/*.test.ts'], testTimeout: 120_000, env: { CHROMIUM_PATH: browserPath(process.env) } } }] : []),
    ],
  },
});
