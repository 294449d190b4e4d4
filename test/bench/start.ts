import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { memoryOf, START_ENVIRONMENT, START_FLAGS } from './child.ts';
import { median } from './median.ts';
import type { Result } from './report.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** How many starts are measured. */
const STARTS = 3;

/**
 * Seconds from the start of the process to the first answered request of an installed forum; from the second start on,
 * so compiled code and assets are there.
 */
export async function measureStart(
  environment: Readonly<Record<string, string>>,
  onServer: boolean,
): Promise<readonly Result[]> {
  const value = await secondsToStart(environment);
  return [
    {
      name: 'second start to the first answer',
      value,
      unit: 's',
      ratio: undefined,
      goal: onServer ? 1 : 3,
      atMost: true,
    },
  ];
}

/** The median of some starts after the first. */
export async function secondsToStart(environment: Readonly<Record<string, string>>): Promise<number> {
  await startAndAsk(environment);
  const times: number[] = [];
  while (times.length < STARTS) times.push(await startAndAsk(environment));
  return median(times);
}

/** Resident memory of the embedded forum that `npm run demo` makes, once it has answered its first page. */
export async function measureDemo(): Promise<readonly Result[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  try {
    const environment = { DATA_DIR: dataDir, DATABASE_URL: '', REDIS_URL: '' };
    const value = await whileAnswering(environment, ['demo'], ({ pid }) => memoryOf(pid!));
    return [
      {
        name: "resident memory of the embedded forum after the demo's first page",
        value,
        unit: 'MiB',
        ratio: undefined,
        goal: 300,
        atMost: true,
      },
    ];
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function startAndAsk(environment: Readonly<Record<string, string>>): Promise<number> {
  const begun = performance.now();
  return whileAnswering(environment, [], () => (performance.now() - begun) / 1_000);
}

/** Starts the program, calls `look` as soon as the home page is there, and stops it. */
async function whileAnswering<T>(
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
  look: (child: ChildProcess) => T | Promise<T>,
): Promise<T> {
  const port = await freePort();
  const child = spawn(process.execPath, [...START_FLAGS, 'core/main.ts', ...words], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...START_ENVIRONMENT,
      ...environment,
      PORT: String(port),
      NODE_ENV: 'production',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    for (;;) {
      const answered = await fetch(`http://127.0.0.1:${port}/`).then(
        async (response) => response.ok && (await response.text()) !== '',
        () => false,
      );
      if (answered) return await look(child);
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode} before it answered`);
      await new Promise((again) => setTimeout(again, 5));
    }
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
