import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { KERNEL, PLUGINS } from './tools/journeys.ts';
import { LongestFirst } from './tools/sequencer.ts';
import { leftOut } from './tools/suites.ts';

const KERNEL_AND_PLUGINS = ['test/core/**/*.test.ts', 'test/plugins/**/*.test.ts'];
/** Tests that need several processes on one PostgreSQL and one Redis. */
const SEVERAL = 'test/**/*.server.test.ts';
/** Tests of several processes behind an nginx, besides. */
const PROXIED = 'test/**/*.proxy.test.ts';
/** Tests that open no database: once is enough, with those on the embedded one. */
const WITHOUT = [
  'test/core/{command-line,graph,loader}.test.ts',
  'test/plugins/cache/{cache,exactness,cluster}.test.ts',
  'test/plugins/limits/ip-key.test.ts',
  'test/plugins/protection/proxies.test.ts',
  'test/plugins/secrets/secrets.test.ts',
  'test/plugins/web/{failure-texts,forms,templates,tokens}.test.ts',
];
/**
 * Statements that are given lists, on databases that the tests' own process has just made; all tests are run so with
 * PARLEY_FULL=1, because making one takes as long as most files' tests.
 */
const FIRST_PROCESS = ['test/core/data.test.ts', 'test/plugins/notifications/notify.test.ts'];
/**
 * What may differ between the embedded database and a server: what is kept how, what is up to Redis where there is one,
 * and what several do at once or a crash leaves. The other tests run on a server, and here with PARLEY_FULL=1.
 */
const ON_BOTH = [
  'test/core/{backfill,cli,connections,data,exclusively,faults,job-keys,job-processes,jobs,restart,disk-space,vacuum}.test.ts',
  'test/plugins/accounts/{sessions,failure-throttle}.test.ts',
  'test/plugins/installer/process.test.ts',
  'test/plugins/{cache,limits,presence}/**/*.test.ts',
  'test/plugins/{live/stream,typing/typing}.test.ts',
  'test/plugins/**/{idempotency,index-maintenance,keeping,locks,recounting,room,search}.test.ts',
];
/** With PARLEY_FULL=1 tests are longer and none is left out. */
const full = process.env['PARLEY_FULL'] === '1';
/** `npm test -- test/plugins/web`: what is named runs wherever it can. */
const named = process.argv.some((word) => word.startsWith('test/'));
const suites = leftOut(process.env, existsSync);
const runs = (name: string): boolean => !suites.some((suite) => suite.name === name);

/**
 * Files share their worker's modules, because loading them and warming up the embedded database takes longer than most
 * files' tests; no module keeps state.
 */
const shared = {
  environment: 'node',
  pool: 'forks' as const,
  // Forums that come and go in one process make more garbage than a server that lives.
  execArgv: ['--max-semi-space-size=64'],
  isolate: false,
  // Modules are loaded by Node, as those who run the program load them.
  experimental: { viteModuleRunner: false },
  // Only what hangs reaches them: a busy machine takes many times as long as a quiet one.
  testTimeout: 120_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 30_000 } },
};

export default defineConfig({
  test: {
    globalSetup: ['config/tools/announce-suites.ts', 'config/tools/test-run.ts'],
    // One more than processors: what tests have to wait for, leases, timers and browsers, would leave one of them idle a
    // fifth of the time. More would only wait for each other.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'static',
          include: ['test/*.test.ts', 'test/package/*.test.ts', 'config/tools/**/*.test.ts'],
          testTimeout: 180_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'embedded',
          include:
            full || (named && !runs('server'))
              ? KERNEL_AND_PLUGINS
              : [...ON_BOTH, ...WITHOUT, ...(runs('server') ? [] : [...KERNEL, ...PLUGINS])],
          exclude: [SEVERAL, PROXIED],
          env: { PARLEY_TEST_DATABASE: 'embedded' },
        },
      },
      {
        test: {
          ...shared,
          name: 'first-process',
          // Tests that start a forum of their own make its database, too.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          include: full ? KERNEL_AND_PLUGINS : FIRST_PROCESS,
          exclude: [SEVERAL, PROXIED, ...WITHOUT],
          env: { PARLEY_TEST_DATABASE: 'first-process' },
        },
      },
      ...(runs('server')
        ? [
            {
              test: {
                ...shared,
                name: 'server',
                include: KERNEL_AND_PLUGINS,
                exclude: [
                  ...WITHOUT,
                  ...(runs('several processes') ? [] : [SEVERAL]),
                  ...(runs('several processes') && runs('proxy') ? [] : [PROXIED]),
                ],
                env: { PARLEY_TEST_DATABASE: 'server' },
              },
            },
          ]
        : []),
      ...(full
        ? [
            {
              test: {
                ...shared,
                name: 'full',
                include: ['test/full/**/*.test.ts'],
                testTimeout: 1_800_000,
                env: { PARLEY_TEST_DATABASE: process.env['TEST_DATABASE_URL'] ? 'server' : 'embedded' },
              },
            },
          ]
        : []),
      ...(runs('browser')
        ? [
            {
              test: {
                ...shared,
                name: 'browser',
                include: ['test/browser/**/*.test.ts'],
                env: { PARLEY_TEST_DATABASE: runs('server') ? 'server' : 'embedded' },
              },
            },
          ]
        : []),
    ],
  },
});
