import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { KERNEL, PLUGINS } from './tools/journeys.ts';
import { LongestFirst } from './tools/sequencer.ts';
import { leftOut } from './tools/suites.ts';

const KERNEL_AND_PLUGINS = ['test/core/**/*.test.ts', 'test/plugins/**/*.test.ts'];
/** Tests that need several processes on one PostgreSQL and one Redis. */
const SEVERAL = 'test/**/*.server.test.ts';
/** Tests that also need nginx in front of several processes. */
const PROXIED = 'test/**/*.proxy.test.ts';
/** Tests that open no database: it is enough to run them once, together with those on the embedded database. */
const WITHOUT = [
  'test/core/{command-line,graph,loader}.test.ts',
  'test/plugins/cache/{cache,exactness,cluster}.test.ts',
  'test/plugins/limits/ip-key.test.ts',
  'test/plugins/protection/proxies.test.ts',
  'test/plugins/secrets/secrets.test.ts',
  'test/plugins/web/{failure-texts,forms,templates,tokens}.test.ts',
];
/**
 * Tests of statements with list parameters, on databases that the test process itself has just created. With
 * PARLEY_FULL=1 all tests run this way; otherwise only these do, because creating a database takes as long as the tests
 * of most files.
 */
const FIRST_PROCESS = ['test/core/data.test.ts', 'test/plugins/notifications/notify.test.ts'];
/**
 * Tests of behaviour that may differ between the embedded database and a server: storage, features that depend on
 * Redis, concurrency and crashes. The other tests run on a server only, and here with PARLEY_FULL=1.
 */
const ON_BOTH = [
  'test/core/{backfill,cli,connections,data,exclusively,faults,job-keys,job-processes,jobs,restart,disk-space,vacuum}.test.ts',
  'test/plugins/accounts/{sessions,failure-throttle}.test.ts',
  'test/plugins/installer/process.test.ts',
  'test/plugins/{cache,limits,presence}/**/*.test.ts',
  'test/plugins/typing/typing.test.ts',
  'test/plugins/**/{idempotency,index-maintenance,keeping,locks,recounting,room,search}.test.ts',
];
/** With PARLEY_FULL=1, tests are longer and none are left out. */
const full = process.env['PARLEY_FULL'] === '1';
/** `npm test -- test/plugins/web`: tests given by name run in every project that can run them. */
const named = process.argv.some((word) => word.startsWith('test/'));
const suites = leftOut(process.env, existsSync);
const runs = (name: string): boolean => !suites.some((suite) => suite.name === name);

/**
 * Test files in a worker share modules, because loading them and warming up the embedded database takes longer than the
 * tests of most files; no module keeps state.
 */
const shared = {
  environment: 'node',
  pool: 'forks' as const,
  // Starting and stopping many forums in one process creates more garbage than a long-running server.
  execArgv: ['--max-semi-space-size=64'],
  isolate: false,
  // Modules are loaded by Node, as in production.
  experimental: { viteModuleRunner: false },
  // Only tests that hang should reach these limits: a busy machine takes many times as long as an idle one.
  testTimeout: 120_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 30_000 } },
};

export default defineConfig({
  test: {
    globalSetup: ['config/tools/announce-suites.ts', 'config/tools/test-run.ts'],
    // Two more than the number of processors: tests wait for leases, timers and browsers, which would leave a processor
    // idle. With even more, none is idle, and tests only wait for each other.
    maxWorkers: availableParallelism() + 2,
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
          // Tests that start their own forum also create its database.
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
